import { arrayAt, type JsonObject, objectAt, stringAt } from '../../lib/json.ts'
import { READY } from '../../resources/label-names.ts'
import { readCondition } from '../../resources/status-condition.ts'

/** One pod as the cluster sees it. */
export interface PodState {
  /** `pod-1`. */
  readonly name: string
  readonly uid: string
  /** Empty until it has one. */
  readonly ip: string
  readonly labels: Readonly<Record<string, unknown>>
  readonly ready: boolean
  /** Whether it was deleted and is about to end. */
  readonly leaving: boolean
  /** The process id of its server while that runs. */
  readonly pid: number | undefined
}

/** The container id that the node agent gives a process. */
const PROCESS = /^process:\/\/(\d+)$/

export function readPod(pod: JsonObject): PodState {
  const [container] = arrayAt(pod, 'status', 'containerStatuses')
  const isRunning = Object.hasOwn(objectAt(container, 'state'), 'running')
  const pid = PROCESS.exec(stringAt(container, 'containerID'))?.[1]
  return {
    name: stringAt(pod, 'metadata', 'name'),
    uid: stringAt(pod, 'metadata', 'uid'),
    ip: stringAt(pod, 'status', 'podIP'),
    labels: objectAt(pod, 'metadata', 'labels'),
    ready: readCondition(objectAt(pod, 'status'), READY).status === 'True',
    leaving: stringAt(pod, 'metadata', 'deletionTimestamp') !== '',
    pid: isRunning && pid !== undefined ? Number(pid) : undefined,
  }
}

/** The state of a pod that does not exist. */
export function absentPod(name: string): PodState {
  const [uid, ip, labels, pid] = ['', '', {}, undefined]
  return { name, uid, ip, labels, ready: false, leaving: false, pid }
}
