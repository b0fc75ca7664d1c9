import type { WantedCondition } from '../../resources/status-condition.ts'
import type { Contents } from './namespace-contents.ts'

/** Never True: all kinds are known without discovery, and the runner retries and reports refused deletions. */
const ALWAYS: readonly WantedCondition[] = [
  {
    type: 'NamespaceDeletionDiscoveryFailure',
    status: 'False',
    reason: 'ResourcesDiscovered',
    message: 'All resources successfully discovered',
  },
  {
    type: 'NamespaceDeletionContentFailure',
    status: 'False',
    reason: 'ContentDeleted',
    message: 'All content successfully deleted, may be waiting on finalization',
  },
]

/** The conditions of Kubernetes that report what is left in a namespace whose contents are all being deleted. */
export function conditionsOf(left: readonly Contents[]): readonly WantedCondition[] {
  const remaining = left.map(
    ({ collection, objects }) => `${collection}. has ${objects.length} resource instances`,
  )
  const finalizers = left.flatMap(({ objects }) => objects.flatMap((meta) => meta.finalizers))
  const held = [...Map.groupBy(finalizers, (name) => name)].map(
    ([name, { length }]) => `${name} in ${length} resource instances`,
  )
  return [...ALWAYS, contentRemaining(remaining), finalizersRemaining(held)]
}

function contentRemaining(remaining: readonly string[]): WantedCondition {
  return {
    type: 'NamespaceContentRemaining',
    status: 'True',
    reason: 'SomeResourcesRemain',
    message: `Some resources are remaining: ${remaining.join(', ')}`,
  }
}

function finalizersRemaining(held: readonly string[]): WantedCondition {
  const type = 'NamespaceFinalizersRemaining'
  if (held.length === 0) {
    const message = 'All content-preserving finalizers finished'
    return { type, status: 'False', reason: 'ContentHasNoFinalizers', message }
  }
  const message = `Some content in the namespace has finalizers remaining: ${held.join(', ')}`
  return { type, status: 'True', reason: 'SomeFinalizersRemain', message }
}
