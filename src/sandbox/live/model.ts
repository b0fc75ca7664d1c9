import { readSlice, type SliceState } from '../cluster/slice-state.ts'
import { explainCommand } from '../environment/by-hand.ts'
import { flushCommand, otherTerminal, showCommand } from '../environment/by-hand-programs.ts'
import type { Sandbox } from '../environment/sandbox.ts'
import { serviceRow } from './screen/cluster-view.ts'
import type { View } from './screen/view.ts'
import { Tally } from './tally.ts'

const LOG_LINES = 3

/** The data of the screen: the cluster as the API server reports it, the requests, the last notice. */
export class Model {
  readonly tally = new Tally()
  notice = ''
  readonly #sandbox: Sandbox
  readonly #began = Date.now()

  constructor(sandbox: Sandbox) {
    this.#sandbox = sandbox
  }

  /** How many pods are behind a Service, ready or not. */
  replicas(service: string): number {
    const own = this.#slices().filter((row) => row.service === service)
    return own.reduce((sum, row) => sum + row.ready.length + row.notReady.length, 0)
  }

  view(): View {
    const { run, options, cluster, daemon } = this.#sandbox
    const { sent, answers, kinds } = this.tally
    return {
      ...{ sent, answers, kinds, notice: this.notice },
      run: run.name,
      mode: options.mode,
      api: cluster.controlPlane,
      terminal: otherTerminal(process.env),
      explain: explainCommand(run),
      show: showCommand(options).join(' '),
      flush: flushCommand(options).join(' '),
      upMs: Date.now() - this.#began,
      services: sorted(cluster.state.services).map(serviceRow),
      backends: this.#slices(),
      pods: cluster.pods.states(),
      daemonPid: daemon.pid,
      daemonLog: daemon.lastLines(LOG_LINES),
    }
  }

  #slices(): readonly SliceState[] {
    return sorted(this.#sandbox.cluster.state.slices).map(readSlice)
  }
}

function sorted<T>(rows: ReadonlyMap<string, T>): readonly T[] {
  return [...rows].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row)
}
