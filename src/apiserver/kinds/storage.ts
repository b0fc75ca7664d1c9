import { csiNodeWrite } from '../../auth/node/node-writes.ts'
import { arrayAt, type JsonObject, scalarText, stringAt, valueAt } from '../../lib/json.ts'
import { readMetadata } from '../../resources/metadata.ts'
import { isQualifiedName, isSubdomain } from '../../resources/names.ts'
import { isIntegerIn } from '../../resources/port.ts'
import { ownField, type Raw, type Reader } from '../../resources/reader.ts'
import { ageColumn, type Column, column, nameColumn, numberColumn } from '../resource/column.ts'
import { aliasVersions, type Resource } from '../resource/resource.ts'
import {
  checkField,
  checkInteger,
  checkName,
  checkOneOf,
  checkUnchanged,
  nodeRule,
} from './shared/checks.ts'
import { change, fill } from './shared/edit.ts'

const MAX_DRIVER_NAME = 63
const MAX_NODE_ID_BYTES = 256
const DRIVER_FAULT =
  'must be the name of a CSI driver: a DNS name of at most 63 characters, such as csi.example.com'
const KEY_FAULT = 'must be the key of a label, such as topology.example.com/zone'

/**
 * storage.k8s.io/v1 CSINode: the CSI drivers of a node. Each kubelet creates the one of its Node, and its Node
 * becomes ready only after that.
 */
export const csiNodes: Resource = {
  plural: 'csinodes',
  singular: 'csinode',
  kind: 'CSINode',
  namespaced: false,
  versions: aliasVersions('storage', 'v1'),
  columns: [
    nameColumn,
    numberColumn(
      'Drivers',
      'How many drivers the node has.',
      (object) => arrayAt(object, 'spec', 'drivers').length,
    ),
    ageColumn,
  ],
  checkWriter: nodeRule(csiNodeWrite, 'csinodes', 'storage.k8s.io'),
  validate: checkCsiNode,
  validateUpdate: checkCsiNodeUpdate,
  defaults: defaultCsiNode,
}

function defaultCsiNode(node: Raw): Raw {
  return change(node, 'spec', (spec) =>
    ownField(spec, 'drivers') === undefined ? { ...spec, drivers: [] } : spec,
  )
}

function checkCsiNode(object: Reader): void {
  readMetadata(object, { namespaced: false, name: 'subdomain' })
  const names = new Set<unknown>()
  for (const driver of object.object('spec').objects('drivers')) {
    const name = driver.value('name')
    if (!isDriverName(name)) driver.refuse('name', DRIVER_FAULT)
    else if (names.has(name)) driver.refuse('name', 'must differ from the other drivers')
    names.add(name)
    const id = driver.value('nodeID')
    const isId = typeof id === 'string' && id !== '' && Buffer.byteLength(id) <= MAX_NODE_ID_BYTES
    if (!isId) driver.refuse('nodeID', `must be a text of 1 to ${MAX_NODE_ID_BYTES} bytes`)
    checkTopologyKeys(driver)
    checkInteger(driver.object('allocatable'), 'count', 0)
  }
}

function checkTopologyKeys(driver: Reader): void {
  const keys = driver.list('topologyKeys')
  for (const [index, key] of keys.entries()) {
    if (typeof key !== 'string' || !isQualifiedName(key)) {
      driver.refuseItem('topologyKeys', index, KEY_FAULT)
    } else if (keys.indexOf(key) < index) {
      driver.refuseItem('topologyKeys', index, { isDuplicate: true, other: 'those before it' })
    }
  }
}

/** The fields of a driver that stays on the node are immutable, except the number of its volumes. */
function checkCsiNodeUpdate(next: Reader, old: Reader): void {
  const before = old.object('spec').objects('drivers')
  for (const driver of next.object('spec').objects('drivers')) {
    const same = before.find((one) => one.value('name') === driver.value('name'))
    if (same === undefined) continue
    for (const key of ['nodeID', 'topologyKeys']) checkUnchanged(driver, same, key)
  }
}

const MODES = ['Persistent', 'Ephemeral']
const GROUP_POLICIES = ['ReadWriteOnceWithFSType', 'File', 'None']
const SWITCHES = [
  'attachRequired',
  'podInfoOnMount',
  'storageCapacity',
  'requiresRepublish',
  'seLinuxMount',
  'serviceAccountTokenInSecrets',
]
const MIN_TOKEN_SECONDS = 600
const MAX_TOKEN_SECONDS = 2 ** 32
const MIN_PERIOD_SECONDS = 10

const driverColumns: readonly Column[] = [
  nameColumn,
  switchColumn('AttachRequired', 'attachRequired', 'Whether its volumes are attached to a node.'),
  switchColumn('PodInfoOnMount', 'podInfoOnMount', 'Whether it gets facts about the pod.'),
  switchColumn('StorageCapacity', 'storageCapacity', 'Whether it reports free capacity.'),
  column('TokenRequests', 'The audiences of the tokens that it gets.', tokenAudiences),
  switchColumn('RequiresRepublish', 'requiresRepublish', 'Whether it refreshes mounted volumes.'),
  column(
    'Modes',
    'Which volumes it has.',
    (object) =>
      arrayAt(object, 'spec', 'volumeLifecycleModes').map(scalarText).join(',') || '<none>',
  ),
  ageColumn,
]

function switchColumn(name: string, field: string, description: string): Column {
  return column(name, description, (object) => scalarText(valueAt(object, 'spec', field)))
}

function tokenAudiences(object: JsonObject): string {
  const requests = arrayAt(object, 'spec', 'tokenRequests')
  return requests.map((one) => stringAt(one, 'audience')).join(',') || '<unset>'
}

/** storage.k8s.io/v1 CSIDriver: how kubelets use a CSI driver of the cluster. */
export const csiDrivers: Resource = {
  plural: 'csidrivers',
  singular: 'csidriver',
  kind: 'CSIDriver',
  namespaced: false,
  versions: aliasVersions('storage', 'v1'),
  columns: driverColumns,
  validate: checkCsiDriver,
  validateUpdate: checkCsiDriverUpdate,
  defaults: defaultCsiDriver,
}

function defaultCsiDriver(driver: Raw): Raw {
  return change(driver, 'spec', (given) => {
    const spec = fill(given, {
      attachRequired: true,
      podInfoOnMount: false,
      storageCapacity: false,
      fsGroupPolicy: 'ReadWriteOnceWithFSType',
      requiresRepublish: false,
      seLinuxMount: false,
    })
    const modes = ownField(spec, 'volumeLifecycleModes')
    const isAbsent = modes === undefined || (Array.isArray(modes) && modes.length === 0)
    return isAbsent ? { ...spec, volumeLifecycleModes: ['Persistent'] } : spec
  })
}

function checkCsiDriver(object: Reader): void {
  const named = readMetadata(object, { namespaced: false, name: 'subdomain' })
  if (named !== undefined && !isDriverName(named.name)) {
    object.object('metadata').refuse('name', DRIVER_FAULT)
  }
  const spec = object.object('spec')
  for (const key of SWITCHES) spec.flag(key)
  checkOneOf(spec, 'fsGroupPolicy', GROUP_POLICIES)
  for (const [index, mode] of spec.list('volumeLifecycleModes').entries()) {
    if (!MODES.some((one) => one === mode)) {
      spec.refuseItem('volumeLifecycleModes', index, { supported: MODES })
    }
  }
  checkInteger(spec, 'nodeAllocatableUpdatePeriodSeconds', MIN_PERIOD_SECONDS)
  checkTokenRequests(spec)
}

function checkTokenRequests(spec: Reader): void {
  const audiences = new Set<string>()
  const requests = spec.objects('tokenRequests')
  for (const request of requests) {
    const audience = request.text('audience') ?? ''
    if (audiences.has(audience)) request.refuse('audience', 'must differ from the other audiences')
    audiences.add(audience)
    checkField(
      request,
      'expirationSeconds',
      (value) => isIntegerIn(value, MIN_TOKEN_SECONDS, MAX_TOKEN_SECONDS),
      `must be a number of seconds from ${MIN_TOKEN_SECONDS} to ${MAX_TOKEN_SECONDS}`,
    )
  }
  if (spec.value('serviceAccountTokenInSecrets') !== undefined && requests.length === 0) {
    spec.refuse('serviceAccountTokenInSecrets', 'must be absent without tokenRequests')
  }
}

function checkCsiDriverUpdate(next: Reader, old: Reader): void {
  for (const key of ['attachRequired', 'volumeLifecycleModes']) {
    checkUnchanged(next.object('spec'), old.object('spec'), key)
  }
}

/** storage.k8s.io/v1 VolumeAttachment: that a volume is to be attached to a node, and whether it is. */
export const volumeAttachments: Resource = {
  plural: 'volumeattachments',
  singular: 'volumeattachment',
  kind: 'VolumeAttachment',
  namespaced: false,
  versions: aliasVersions('storage', 'v1'),
  status: { initial: () => ({ attached: false }) },
  columns: [
    nameColumn,
    column('Attacher', 'The driver that attaches the volume.', (object) =>
      stringAt(object, 'spec', 'attacher'),
    ),
    column('PV', 'The volume.', (object) =>
      stringAt(object, 'spec', 'source', 'persistentVolumeName'),
    ),
    column('Node', 'The node.', (object) => stringAt(object, 'spec', 'nodeName')),
    column('Attached', 'Whether it is attached.', (object) =>
      scalarText(valueAt(object, 'status', 'attached')),
    ),
    ageColumn,
  ],
  validate: checkVolumeAttachment,
  validateUpdate: checkVolumeAttachmentUpdate,
  defaults: 'none',
}

function checkVolumeAttachment(object: Reader): void {
  readMetadata(object, { namespaced: false, name: 'subdomain' })
  const spec = object.object('spec')
  if (!isDriverName(spec.value('attacher'))) spec.refuse('attacher', DRIVER_FAULT)
  checkName(spec, 'subdomain', 'nodeName')
  const source = spec.object('source')
  const isInline = source.value('inlineVolumeSpec') !== undefined
  if (!isInline) checkName(source, 'subdomain', 'persistentVolumeName')
  else if (source.value('persistentVolumeName') !== undefined) {
    source.refuse('persistentVolumeName', 'must be absent beside inlineVolumeSpec')
  }
  object.object('status').flag('attached')
}

function checkVolumeAttachmentUpdate(next: Reader, old: Reader): void {
  checkUnchanged(next, old, 'spec')
}

function isDriverName(name: unknown): name is string {
  return (
    typeof name === 'string' && name.length <= MAX_DRIVER_NAME && isSubdomain(name.toLowerCase())
  )
}
