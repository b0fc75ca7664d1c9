import { stringAt } from '../../lib/json.ts'
import { countAt } from '../objects/workload-object.ts'
import { type Controller, SETTLED } from '../runner/controller.ts'
import { endOf } from './job/job-status.ts'

/**
 * Deletes Jobs `ttlSecondsAfterFinished` after they have ended, in the foreground: their Pods go first. The server compares the
 * version, so a Job whose time was prolonged meanwhile stays. A key is `namespace/name` of a Job.
 */
export const ttlAfterFinishedController: Controller = {
  name: 'ttlafterfinished',
  account: 'ttl-after-finished-controller',
  watches: { jobs: ({ key, after }) => (after === undefined ? [] : [key]) },
  reconcile(key, view, now) {
    const job = view.jobs.get(key)
    if (job === undefined || job.meta.terminating) return SETTLED
    const seconds = countAt(job.spec, -1, 'ttlSecondsAfterFinished')
    const endedAt = Date.parse(stringAt(endOf(job), 'lastTransitionTime'))
    if (seconds < 0 || Number.isNaN(endedAt)) return SETTLED
    const againMs = endedAt + 1000 * seconds - now
    if (againMs > 0) return { writes: [], againMs }
    const deletion = { verb: 'delete', collection: 'jobs', meta: job.meta } as const
    return { writes: [{ ...deletion, propagation: 'Foreground' }] }
  },
}
