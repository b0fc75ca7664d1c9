import { ownField, type Raw } from '../../../../resources/reader.ts'
import { writeQuantities, writeQuantity } from '../checks.ts'
import { changeEach, changePresent, defaultProtocol, fill } from '../edit.ts'

const SPEC = {
  restartPolicy: 'Always',
  terminationGracePeriodSeconds: 30,
  dnsPolicy: 'ClusterFirst',
  schedulerName: 'default-scheduler',
  enableServiceLinks: true,
  securityContext: {},
}
const CONTAINER = {
  resources: {},
  terminationMessagePath: '/dev/termination-log',
  terminationMessagePolicy: 'File',
}
const PROBE = { timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 }
const PROBES = ['livenessProbe', 'readinessProbe', 'startupProbe']
const HOOKS = ['postStart', 'preStop']

/** The defaults of Pods and of Pod templates. */
export function defaultPodSpec(given: Raw): Raw {
  const filled = writeQuantities(fill(given, SPEC), ['overhead'])
  const named = changeEach(withAccount(filled), 'volumes', defaultVolume)
  const spec = changeEach(named, 'containers', defaultContainer)
  return changeEach(spec, 'initContainers', defaultContainer)
}

/** The name of the account is also set in the deprecated field; if the two differ, the new field counts. */
function withAccount(spec: Raw): Raw {
  const name = ownField(spec, 'serviceAccountName') || ownField(spec, 'serviceAccount')
  if (typeof name !== 'string' || name === '') return spec
  return { ...spec, serviceAccount: name, serviceAccountName: name }
}

function defaultContainer(given: Raw): Raw {
  const container = fill(given, {
    ...CONTAINER,
    imagePullPolicy: pullPolicy(ownField(given, 'image')),
  })
  const sized = changePresent(container, 'resources', (resources) =>
    writeQuantities(resources, ['limits', 'requests']),
  )
  const open = changeEach(changeEach(sized, 'ports', defaultProtocol), 'env', defaultSource)
  const probed = PROBES.reduce((all, probe) => changePresent(all, probe, defaultProbe), open)
  return changePresent(probed, 'lifecycle', (lifecycle) =>
    HOOKS.reduce((all, hook) => changePresent(all, hook, defaultHandler), lifecycle),
  )
}

/** The default pull policy: an image whose tag may move to another image is always pulled. */
function pullPolicy(image: unknown): string {
  const name = typeof image === 'string' ? image.slice(image.lastIndexOf('/') + 1) : ''
  return name.includes('@') || /:(?!latest$)./.test(name) ? 'IfNotPresent' : 'Always'
}

function defaultProbe(probe: Raw): Raw {
  return fill(defaultHandler(probe), PROBE)
}

function defaultHandler(handler: Raw): Raw {
  return changePresent(handler, 'httpGet', (get) => fill(get, { path: '/', scheme: 'HTTP' }))
}

function defaultSource(variable: Raw): Raw {
  return changePresent(variable, 'valueFrom', (source) =>
    changePresent(defaultFieldRef(source), 'resourceFieldRef', withDivisor),
  )
}

function withDivisor(reference: Raw): Raw {
  return writeQuantity(reference, 'divisor')
}

/** 0644, as a decimal number. */
const MODE = { defaultMode: 420 }
const FILES = ['configMap', 'secret', 'downwardAPI', 'projected']
const TOKEN = { expirationSeconds: 3600 }

/**
 * The defaults of a volume: an empty folder if it has no source, the mode of its files, and any type for a host path. A
 * size is written in canonical form.
 */
export function defaultVolume(given: Raw): Raw {
  const moded = FILES.reduce(
    (volume, key) => changePresent(volume, key, (files) => fill(files, MODE)),
    hasSource(given) ? given : { ...given, emptyDir: {} },
  )
  const filled = changePresent(withFields(moded), 'projected', (projected) =>
    changeEach(projected, 'sources', defaultVolumeSource),
  )
  const sized = changePresent(filled, 'emptyDir', (files) => writeQuantity(files, 'sizeLimit'))
  return changePresent(sized, 'hostPath', (path) => fill(path, { type: '' }))
}

function hasSource(volume: Raw): boolean {
  return Object.keys(volume).some(
    (key) => key !== 'name' && (ownField(volume, key) ?? null) !== null,
  )
}

function defaultVolumeSource(source: Raw): Raw {
  return changePresent(withFields(source), 'serviceAccountToken', (token) => fill(token, TOKEN))
}

/** Files that show fields of the pod. */
function withFields(source: Raw): Raw {
  return changePresent(source, 'downwardAPI', (files) =>
    changeEach(files, 'items', defaultFieldRef),
  )
}

/** A source that shows a field of the pod: in version v1 of pods unless it names another one. */
function defaultFieldRef(source: Raw): Raw {
  return changePresent(source, 'fieldRef', (field) => fill(field, { apiVersion: 'v1' }))
}
