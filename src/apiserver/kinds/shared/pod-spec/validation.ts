import { posix } from 'node:path'
import { isLabel, isPortName } from '../../../../resources/names.ts'
import { readAllocatedPort, readPort, readProtocol } from '../../../../resources/port.ts'
import { milliQuantity } from '../../../../resources/quantity.ts'
import type { Reader } from '../../../../resources/reader.ts'
import {
  checkField,
  checkInteger,
  checkLabel,
  checkName,
  checkOneOf,
  checkSubdomain,
  checkTolerations,
  LABEL_FAULT,
} from '../checks.ts'
import { checkDataKey, checkVolumes, isInnerPath, PATH_FAULT } from './volume-validation.ts'

const NAME_FAULT = 'must be the name of a variable: printable ASCII characters without ='
/** The fields of `valueFrom`. */
const VARIABLE_SOURCES = [
  'fieldRef',
  'resourceFieldRef',
  'configMapKeyRef',
  'secretKeyRef',
  'fileKeyRef',
]
/** The fields of `envFrom`. */
const ENVIRONMENT_SOURCES = ['configMapRef', 'secretRef']

const RESTARTS = ['Always', 'OnFailure', 'Never']
const PORT_NAME_FAULT = 'must be at most 15 of a-z, 0-9 and -, with a letter, such as http'

/** The rules for the spec of a Pod or of a Pod template. `claims`: names of volumes that are declared elsewhere. */
export function checkPodSpec(spec: Reader, claims: readonly unknown[] = []): void {
  if (spec.list('containers').length === 0) {
    spec.refuse('containers', 'must have at least one container')
  }
  const volumes = new Set([...checkVolumes(spec), ...claims])
  const names = new Set<unknown>()
  for (const key of ['containers', 'initContainers', 'ephemeralContainers']) {
    for (const container of spec.objects(key)) {
      checkContainer(container, names)
      checkMounts(container, volumes)
    }
  }
  for (const secret of spec.objects('imagePullSecrets')) checkName(secret, 'subdomain')
  checkTolerations(spec)
  checkInteger(spec, 'activeDeadlineSeconds', 1)
  checkOneOf(spec, 'restartPolicy', RESTARTS)
  checkSubdomain(spec, 'nodeName')
  checkSubdomain(spec, 'serviceAccountName')
  checkLabel(spec, 'hostname')
  checkLabel(spec, 'subdomain')
  spec.flag('hostNetwork')
  spec.flag('automountServiceAccountToken')
}

function checkContainer(container: Reader, names: Set<unknown>): void {
  const name = container.value('name')
  if (typeof name !== 'string' || !isLabel(name)) container.refuse('name', LABEL_FAULT)
  else if (names.has(name)) container.refuse('name', 'must differ from the other containers')
  names.add(name)
  for (const port of container.objects('ports')) {
    readPort(port, 'containerPort')
    readAllocatedPort(port, 'hostPort')
    readProtocol(port)
    const isName = (value: unknown) => typeof value === 'string' && isPortName(value)
    checkField(port, 'name', isName, PORT_NAME_FAULT)
  }
  checkResources(container.object('resources'))
  checkEnvironment(container)
}

/** No amount is negative, and no request is larger than its limit. */
function checkResources(resources: Reader): void {
  const [limits, requests] = [resources.map('limits'), resources.map('requests')]
  for (const amounts of [limits, requests]) {
    for (const name of amounts.keys()) {
      if (/^-.*[1-9]/.test(String(amounts.value(name)))) amounts.refuse(name, 'must be at least 0')
    }
  }
  for (const name of requests.keys()) {
    const [limit, request] = [limits, requests].map((amounts) => milliQuantity(amounts.value(name)))
    if (limit !== undefined && request !== undefined && request > limit) {
      requests.refuse(name, `must be at most ${String(limits.value(name))}, the limit`)
    }
  }
}

/** The mounts of a container: each must have its own path. */
function checkMounts(container: Reader, volumes: ReadonlySet<unknown>): void {
  const paths = new Set<string>()
  for (const mount of container.objects('volumeMounts')) {
    if (!volumes.has(mount.value('name'))) mount.refuse('name', 'must be the name of a volume')
    checkMountPath(mount, paths)
    mount.flag('readOnly')
    for (const key of ['subPath', 'subPathExpr']) checkField(mount, key, isInnerPath, PATH_FAULT)
  }
}

function checkMountPath(mount: Reader, paths: Set<string>): void {
  const path = mount.value('mountPath')
  if (typeof path !== 'string' || path === '' || /\p{C}/u.test(path)) {
    mount.refuse('mountPath', 'must be a path in the container, such as /etc/app')
    return
  }
  const mounted = posix.join('/', path, '.')
  if (paths.has(mounted)) mount.refuse('mountPath', 'must differ from the other mounts')
  paths.add(mounted)
}

/** The variables of a container and their sources. */
function checkEnvironment(container: Reader): void {
  for (const variable of container.objects('env')) {
    if (!isVariableName(variable.value('name'))) variable.refuse('name', NAME_FAULT)
    const text = variable.text('value') ?? ''
    if (variable.value('valueFrom') === undefined) continue
    if (text !== '') variable.withhold('value', 'must be absent beside `valueFrom`')
    checkSource(variable.object('valueFrom'))
  }
  for (const source of container.objects('envFrom')) {
    checkField(source, 'prefix', isVariableName, NAME_FAULT)
    for (const key of oneOf(source, ENVIRONMENT_SOURCES)) checkReference(source.object(key))
  }
}

function checkSource(source: Reader): void {
  for (const key of oneOf(source, VARIABLE_SOURCES)) {
    const reference = source.object(key)
    if (key !== 'configMapKeyRef' && key !== 'secretKeyRef') continue
    checkReference(reference)
    checkDataKey(reference)
  }
}

function checkReference(reference: Reader): void {
  checkName(reference, 'subdomain')
  reference.flag('optional')
}

/** The sources that are present. Refuses none, and all but the first of several. */
function oneOf(object: Reader, sources: readonly string[]): readonly string[] {
  const present = sources.filter((key) => object.value(key) !== undefined)
  const [, ...others] = present
  for (const key of others) object.withhold(key, 'must be the only source')
  if (present.length === 0)
    object.refuse(sources.at(-1)!, `or another source must be given: ${sources.join(', ')}`)
  return present
}

/** The names that Kubernetes accepts since 1.30. */
function isVariableName(name: unknown): boolean {
  return typeof name === 'string' && /^[\x20-\x3c\x3e-\x7e]+$/.test(name)
}
