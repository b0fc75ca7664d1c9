import { arrayAt, type JsonObject, objectAt, stringAt, valueAt } from '../../lib/json.ts'
import { type ContainerPlan, readContainer, readGroup } from './container-plan.ts'
import { readVolumes, type VolumePlan } from './volume-plan.ts'

/** `spec.restartPolicy`: when a container that has ended is started again. */
export type RestartPolicy = 'Always' | 'OnFailure' | 'Never'

/** The fields of a Pod that decide how it is run, with the defaults of Kubernetes. */
export interface PodPlan {
  /** `namespace/name`. */
  readonly key: string
  readonly namespace: string
  readonly name: string
  readonly uid: string
  readonly labels: JsonObject
  readonly annotations: JsonObject
  /** `spec.hostname`, or else the name of the Pod. */
  readonly hostname: string
  readonly nodeName: string
  readonly serviceAccountName: string
  readonly restartPolicy: RestartPolicy
  /** Runs in the node's network namespace, without an address of its own. */
  readonly hostNetwork: boolean
  /** Milliseconds between SIGTERM and SIGKILL, unless its deletion has another grace period. */
  readonly graceMs: number
  /** The same for its deletion; undefined: it is not being deleted. */
  readonly deletionGraceMs: number | undefined
  readonly containers: readonly ContainerPlan[]
  readonly volumes: readonly VolumePlan[]
  /** Why the volumes cannot be made as specified; then no container runs. */
  readonly volumeFault: string | undefined
  /** `securityContext.fsGroup`: the group that may read the files of volumes. */
  readonly fsGroup: number | undefined
  /** Conditions that other programs write and that readiness requires. */
  readonly readinessGates: readonly string[]
}

const DEFAULT_GRACE_SECONDS = 30
const INIT_FAULT = 'spec.initContainers: this node agent runs no init containers'

/** Reads a Pod as the API server sent it. Never fails: unsupported fields become a `fault` of its containers. */
export function readPod(object: JsonObject): PodPlan {
  const metadata = objectAt(object, 'metadata')
  const spec = objectAt(object, 'spec')
  const [namespace, name] = [stringAt(metadata, 'namespace'), stringAt(metadata, 'name')]
  const graceMs = milliseconds(spec, 'terminationGracePeriodSeconds', DEFAULT_GRACE_SECONDS)
  const isDeleted = stringAt(metadata, 'deletionTimestamp') !== ''
  const hostNetwork = valueAt(spec, 'hostNetwork') === true
  const volumeFaults: string[] = []
  const volumes = readVolumes(spec, volumeFaults)
  const [volumeFault] = volumeFaults
  const fault = arrayAt(spec, 'initContainers').length > 0 ? INIT_FAULT : volumeFault
  return {
    key: `${namespace}/${name}`,
    namespace,
    name,
    uid: stringAt(metadata, 'uid'),
    labels: objectAt(metadata, 'labels'),
    annotations: objectAt(metadata, 'annotations'),
    hostname: stringAt(spec, 'hostname') || name,
    nodeName: stringAt(spec, 'nodeName'),
    serviceAccountName: stringAt(spec, 'serviceAccountName'),
    restartPolicy: restartPolicyOf(spec),
    hostNetwork,
    graceMs,
    deletionGraceMs: isDeleted
      ? milliseconds(metadata, 'deletionGracePeriodSeconds', graceMs / 1000)
      : undefined,
    containers: arrayAt(spec, 'containers').map((container, index) => {
      return readContainer(container, { at: `spec.containers[${index}]`, spec, volumes, fault })
    }),
    volumes,
    volumeFault,
    fsGroup: readGroup(spec),
    readinessGates: arrayAt(spec, 'readinessGates').map((gate) => stringAt(gate, 'conditionType')),
  }
}

function restartPolicyOf(spec: JsonObject): RestartPolicy {
  const policy = stringAt(spec, 'restartPolicy')
  return policy === 'OnFailure' || policy === 'Never' ? policy : 'Always'
}

/** A field in seconds, as milliseconds. */
function milliseconds(object: JsonObject, key: string, defaultSeconds: number): number {
  const value = valueAt(object, key)
  return 1000 * (typeof value === 'number' && value >= 0 ? value : defaultSeconds)
}
