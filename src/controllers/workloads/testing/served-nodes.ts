import { onTestFinished } from 'vitest'
import { type JsonObject, stringAt } from '../../../lib/json.ts'
import { readPod } from '../../objects/pod-object.ts'
import { readyCondition } from '../../testing/fixtures.ts'
import type { ServedApi } from '../../testing/served-api.ts'

const PODS = '/api/v1/namespaces/default/pods'
const MERGE = { 'content-type': 'application/merge-patch+json' }
const RUNNING: JsonObject = { phase: 'Running', conditions: [readyCondition(true)] }

/**
 * A scheduler and nodes for the Pods of namespace `default` with this label, until the test ends: each Pod is bound to the
 * node that it wants, or to `fallback`, becomes ready or gets `status`, and is removed when it is being deleted.
 */
export async function serveNodes(
  api: ServedApi,
  label: string,
  fallback = '',
  status = RUNNING,
): Promise<void> {
  const watch = await api.watch(`${PODS}?watch=true&labelSelector=${encodeURIComponent(label)}`)
  const serve = async (): Promise<void> => {
    for (let event = await watch.next(); event !== undefined; event = await watch.next()) {
      const { meta, nodeName, wantedNode } = readPod(event.object)
      const path = `${PODS}/${meta.name}`
      if (event.type === 'DELETED') continue
      if (meta.terminating) await api.call('DELETE', `${path}?gracePeriodSeconds=0`)
      else if (nodeName === '') {
        const target = { kind: 'Node', name: wantedNode || fallback }
        await api.call('POST', `${path}/binding`, {
          body: { metadata: { name: meta.name }, target },
        })
      } else if (stringAt(event.object, 'status', 'phase') === 'Pending') {
        await api.call('PATCH', `${path}/status`, { body: { status }, headers: MERGE })
      }
    }
  }
  let isOver = false
  onTestFinished(() => {
    isOver = true
    watch.close()
  })
  serve().catch((error: unknown) => {
    if (!isOver) throw error
  })
}
