import { arrayAt, type JsonObject, objectAt, stringAt, valueAt } from '../../lib/json.ts'

/** The progress of a rollout. */
export type Progress =
  /** It goes on, or is done. */
  | { readonly isDone: boolean; readonly message: string }
  /** It has failed, or its progress cannot be known. */
  | { readonly problem: string }

/** The kinds that are rolled out, by their names in URLs. */
export const PROGRESS: ReadonlyMap<string, (workload: JsonObject) => Progress> = new Map([
  ['deployments', deploymentProgress],
  ['daemonsets', daemonSetProgress],
  ['statefulsets', statefulSetProgress],
])

function deploymentProgress(deployment: JsonObject): Progress {
  if (!isObserved(deployment)) return wait('Waiting for deployment spec update to be observed...')
  const [spec, status] = [objectAt(deployment, 'spec'), objectAt(deployment, 'status')]
  const name = `deployment "${stringAt(deployment, 'metadata', 'name')}"`
  const isLate = arrayAt(status, 'conditions').some(
    (one) =>
      stringAt(one, 'type') === 'Progressing' &&
      stringAt(one, 'reason') === 'ProgressDeadlineExceeded',
  )
  if (isLate) return { problem: `${name} exceeded its progress deadline` }
  const wanted = countAt(spec, 'replicas', 1)
  const updated = countAt(status, 'updatedReplicas')
  const old = countAt(status, 'replicas') - updated
  const available = countAt(status, 'availableReplicas')
  const waiting = `Waiting for ${name} rollout to finish:`
  if (updated < wanted) {
    return wait(`${waiting} ${updated} out of ${wanted} new replicas have been updated...`)
  }
  if (old > 0) return wait(`${waiting} ${old} old replicas are pending termination...`)
  if (available < updated) {
    return wait(`${waiting} ${available} of ${updated} updated replicas are available...`)
  }
  return { isDone: true, message: `${name} successfully rolled out` }
}

function daemonSetProgress(set: JsonObject): Progress {
  if (isOnDelete(set)) return ON_DELETE
  if (!isObserved(set)) return wait('Waiting for daemon set spec update to be observed...')
  const status = objectAt(set, 'status')
  const name = `daemon set "${stringAt(set, 'metadata', 'name')}"`
  const wanted = countAt(status, 'desiredNumberScheduled')
  const updated = countAt(status, 'updatedNumberScheduled')
  const available = countAt(status, 'numberAvailable')
  const waiting = `Waiting for ${name} rollout to finish:`
  if (updated < wanted) {
    return wait(`${waiting} ${updated} out of ${wanted} new pods have been updated...`)
  }
  if (available < wanted) {
    return wait(`${waiting} ${available} of ${wanted} updated pods are available...`)
  }
  return { isDone: true, message: `${name} successfully rolled out` }
}

function statefulSetProgress(set: JsonObject): Progress {
  if (isOnDelete(set)) return ON_DELETE
  if (!isObserved(set)) return wait('Waiting for statefulset spec update to be observed...')
  const [spec, status] = [objectAt(set, 'spec'), objectAt(set, 'status')]
  const wanted = countAt(spec, 'replicas', 1)
  const ready = countAt(status, 'readyReplicas')
  const updated = countAt(status, 'updatedReplicas')
  if (ready < wanted) return wait(`Waiting for ${wanted - ready} pods to be ready...`)
  const partition = countAt(objectAt(spec, 'updateStrategy', 'rollingUpdate'), 'partition')
  const due = wanted - partition
  if (updated < due) {
    return wait(
      `Waiting for partitioned roll out to finish: ${updated} out of ${due} new pods have been updated...`,
    )
  }
  const message = `partitioned roll out complete: ${updated} new pods have been updated...`
  return { isDone: true, message }
}

const ON_DELETE: Progress = {
  problem: 'rollout status is only available for RollingUpdate strategy type',
}

function isOnDelete(set: JsonObject): boolean {
  return stringAt(set, 'spec', 'updateStrategy', 'type') === 'OnDelete'
}

/** Whether the controller has seen the present spec. */
function isObserved(workload: JsonObject): boolean {
  const generation = countAt(objectAt(workload, 'metadata'), 'generation')
  return countAt(objectAt(workload, 'status'), 'observedGeneration') >= generation
}

function wait(message: string): Progress {
  return { isDone: false, message }
}

function countAt(object: JsonObject, field: string, otherwise = 0): number {
  return Number(valueAt(object, field) ?? otherwise)
}
