import { own, type Raw } from '../raw.ts'
import { change, changeEach, changePresent, fill } from './edit.ts'
import { defaultProtocol } from './protocol.ts'

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

export function defaultPod(pod: Raw): Raw {
  return change(pod, 'spec', defaultPodSpec)
}

/** Of Pods, and of the templates for them. */
export function defaultPodSpec(given: Raw): Raw {
  const spec = changeEach(fill(given, SPEC), 'containers', defaultContainer)
  return changeEach(spec, 'initContainers', defaultContainer)
}

function defaultContainer(given: Raw): Raw {
  const container = fill(given, { ...CONTAINER, imagePullPolicy: pullPolicy(own(given, 'image')) })
  const open = changeEach(changeEach(container, 'ports', defaultProtocol), 'env', defaultSource)
  const probed = PROBES.reduce((all, probe) => changePresent(all, probe, defaultProbe), open)
  return changePresent(probed, 'lifecycle', (lifecycle) =>
    HOOKS.reduce((all, hook) => changePresent(all, hook, defaultHandler), lifecycle),
  )
}

/** An image that may mean another one tomorrow is looked for every time. */
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
    changePresent(source, 'fieldRef', (field) => fill(field, { apiVersion: 'v1' })),
  )
}
