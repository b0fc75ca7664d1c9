import type { ReflectorState } from '../client/reflector/reflector-state.ts'
import type { WatchState } from './cluster-watcher.ts'

/** One followed resource, named as the API names it. */
export interface WatchedResource {
  readonly resource: 'services' | 'endpointslices' | 'endpoints' | 'nodes'
  /** Undefined while the server has not said which API of endpoints it has. */
  readonly state: ReflectorState | undefined
}

/** The followed resources under the names that metrics, `/readyz` and logs use. */
export function watchedResources(watch: WatchState): readonly WatchedResource[] {
  const endpoints = watch.endpointsApi === 'v1' ? 'endpoints' : 'endpointslices'
  return [
    { resource: 'services', state: watch.services },
    { resource: endpoints, state: watch.endpoints },
    { resource: 'nodes', state: watch.node },
  ]
}
