import type { JsonObject } from '../../lib/json.ts'
import { type PodPlan, readPod } from '../plan/pod-plan.ts'
import { type Advance, advance } from '../state/advance.ts'
import type { PodEvent } from '../state/pod-event.ts'
import { newPodState, type PodState } from '../state/pod-state.ts'
import { receive } from '../state/receive.ts'

/** A Pod as it is stored. */
export function podObject(spec: JsonObject = {}, metadata: JsonObject = {}): JsonObject {
  return {
    metadata: { name: 'web', namespace: 'default', uid: 'u1', ...metadata },
    spec: { containers: [{ name: 'main', image: 'none', command: ['serve'] }], ...spec },
  }
}

export function podPlan(spec: JsonObject = {}, metadata: JsonObject = {}): PodPlan {
  return readPod(podObject(spec, metadata))
}

/** One container with these fields. */
export function containers(...fields: readonly JsonObject[]): JsonObject {
  return {
    containers: fields.map((own, index) => {
      return { name: index === 0 ? 'main' : `c${index}`, image: 'none', command: ['serve'], ...own }
    }),
  }
}

/** A Pod in a test: the events, the second of each, and the actions that follow. */
export class PodStory {
  readonly plan: PodPlan
  state: PodState
  /** Seconds since its beginning. */
  second = 0
  wakeAt = 0

  constructor(plan: PodPlan, state: PodState = newPodState(plan, 0)) {
    this.plan = plan
    this.state = state
  }

  /** Passes time; what is done then, in short words. */
  at(second: number): readonly string[] {
    this.second = second
    return this.#look()
  }

  /** Something happens now. */
  happens(event: PodEvent): readonly string[] {
    this.state = receive(this.plan, this.state, event, this.second * 1000)
    return this.#look()
  }

  /** The Pod has an address, and its containers run. */
  runs(): readonly string[] {
    this.at(this.second)
    this.happens({ is: 'connected', ips: [] })
    return this.state.containers.flatMap(({ name: container, run }) => {
      return this.happens({ is: 'started', container, run: run + 1, pid: 4711 })
    })
  }

  ends(exitCode: number, container = 'main'): readonly string[] {
    const { run } = this.container(container)
    return this.happens({ is: 'ended', container, run, exitCode, signal: 0 })
  }

  starts(container = 'main'): readonly string[] {
    const { run } = this.container(container)
    return this.happens({ is: 'started', container, run: run + 1, pid: 4711 })
  }

  probed(kind: 'startup' | 'liveness' | 'readiness', outcome: 'pass' | 'fail' | 'unknown') {
    const { run } = this.container()
    return this.happens({ is: 'probed', container: 'main', run, kind, outcome, message: '' })
  }

  container(wanted = 'main') {
    const found = this.state.containers.find(({ name }) => name === wanted)
    if (found === undefined) throw new Error(`no container ${wanted}`)
    return found
  }

  #look(): readonly string[] {
    const { state, actions, wakeAt }: Advance = advance(this.plan, this.state, this.second * 1000)
    this.state = state
    this.wakeAt = wakeAt / 1000
    return actions.map((action) => {
      const { do: verb, container = '', kind = '', signal = '' } = { ...empty, ...action }
      return [verb, container, kind || signal].filter((word) => word !== '').join(' ')
    })
  }
}

const empty: { container?: string; kind?: string; signal?: string } = {}
