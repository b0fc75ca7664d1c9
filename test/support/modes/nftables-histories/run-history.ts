import { constants } from 'node:os'
import { setImmediate } from 'node:timers/promises'
import type { EntryId, ForwardingEntry } from '../../../../src/forwarding/entry.ts'
import type { Command } from '../../../../src/kernel/nftables/objects.ts'
import { FakeNamespace } from '../../../../src/kernel/nftables/testing/fake-namespace.ts'
import { NodeProxyError } from '../../../../src/lib/error.ts'
import type { Family } from '../../../../src/lib/ip.ts'
import { FakeClock } from '../../../../src/lib/testing/fake-clock.ts'
import { type FakeNftablesNode, fakeNftablesNode } from '../fake-nftables-node.ts'
import { sendClients } from './clients.ts'
import { foreignCommands } from './foreign-commands.ts'
import { crowd, type EntryStep, type ForeignStep, type HistoryStep } from './some-step.ts'

/** The rounds after a history within which everything must be repaired. */
const ROUNDS = 8
/** Longer than all pauses before the retries of an object. */
const ROUND_MS = 400_000

/** The final state of a history. */
export interface HistoryResult {
  readonly namespace: FakeNamespace
  /** The entries of the cluster at the end. */
  readonly entries: ReadonlyMap<EntryId, ForwardingEntry>
  readonly isSettled: boolean
}

/** Runs one daemon after the other on one kernel, and does with the mode what `sync` does, step by step. */
export class History {
  readonly #clock = new FakeClock()
  readonly #namespace = new FakeNamespace(this.#clock)
  readonly #families: readonly Family[]
  readonly #entries = new Map<EntryId, ForwardingEntry>()
  #node: FakeNftablesNode
  /** Whether the kernel has to be read: at a start, and after an error. */
  #mustLook = true
  #refusals: (() => void)[] = []

  constructor(families: readonly Family[]) {
    this.#families = families
    this.#node = this.#start()
  }

  async run(steps: readonly HistoryStep[]): Promise<HistoryResult> {
    await this.#sync()
    for (const step of steps) {
      await this.#take(step)
      await this.#sync()
    }
    this.#heal()
    for (let round = 0; round < ROUNDS; round++) {
      await this.#clock.advance(ROUND_MS)
      await this.#sync()
    }
    return {
      namespace: this.#namespace,
      entries: this.#entries,
      isSettled: this.#node.tracker.isSettled && !this.#mustLook,
    }
  }

  #start(): FakeNftablesNode {
    const { clock, namespace } = { clock: this.#clock, namespace: this.#namespace }
    return fakeNftablesNode({ clock, namespace, settings: { families: this.#families } })
  }

  async #take(step: HistoryStep): Promise<void> {
    switch (step.do) {
      case 'entries':
        return this.#replace(step.entries)
      case 'crowd':
        return this.#replace(crowd(step.isGone))
      case 'foreign':
        return this.#alter(step.given)
      case 'meanwhile':
        return this.#node.nftables.meanwhile(() => this.#alter(step.given))
      case 'fail':
        return this.#fail(step.failure)
      case 'clients':
        return sendClients(this.#namespace)
      case 'pass':
        return this.#clock.elapse(step.seconds * 1_000)
      case 'restart':
        return this.#restart()
    }
  }

  #replace(steps: readonly EntryStep[]): void {
    for (const { id, entry } of steps) {
      if (entry) this.#entries.set(id, entry)
      else this.#entries.delete(id)
      this.#node.mode.program.replace(id, entry)
    }
  }

  #alter(given: ForeignStep): void {
    this.#namespace.alter(...foreignCommands(this.#namespace, given))
  }

  #restart(): void {
    this.#heal()
    this.#node.stop()
    this.#node = this.#start()
    this.#mustLook = true
    for (const [id, entry] of this.#entries) this.#node.mode.program.replace(id, entry)
  }

  #fail(failure: Extract<HistoryStep, { do: 'fail' }>['failure']): void {
    this.#heal()
    const { nftables } = this.#node
    const refuse = (applies: (command: Command) => boolean, isNamed = true) =>
      this.#refusals.push(nftables.refuse(constants.errno.EINVAL, applies, isNamed))
    switch (failure) {
      case 'lost':
        return nftables.failNext({ kind: 'lost' })
      case 'lostApplied':
        return nftables.failNext({ kind: 'lost', applied: true })
      case 'silence':
        nftables.silence = new NodeProxyError('NP_KERNEL_NETLINK', 'no answer')
        return
      case 'elements':
        return void refuse((one) => 'elements' in one && one.set === 'endpoints')
      case 'rules':
        return void refuse((one) => 'rule' in one && one.chain.startsWith('sticky-'))
      case 'unnamed':
        return void refuse((one) => 'elements' in one && one.set === 'node-ports', false)
      case 'EPERM':
      case 'ENOMEM':
      case 'EEXIST':
      case 'ENOENT':
        return nftables.failNext({
          kind: 'refused',
          errno: constants.errno[failure],
          command: 0,
        })
    }
  }

  #heal(): void {
    this.#node.nftables.silence = undefined
    for (const end of this.#refusals.splice(0)) end()
  }

  /** One run of the loop, and the further runs that its reports request. */
  async #sync(): Promise<void> {
    const node = this.#node
    try {
      for (let run = 0; run < 3; run++) {
        await this.#inspect(node)
        await this.#write(node)
        if (node.reported.length === 0 && !this.#mustLook) break
      }
    } catch (error) {
      if (!(error instanceof NodeProxyError)) throw error
      this.#mustLook = true
    }
    await setImmediate()
  }

  async #inspect({ reported, look }: FakeNftablesNode): Promise<void> {
    const changes = reported.splice(0)
    const isAll = this.#mustLook || changes.some(({ keys }) => keys === 'all')
    if (!isAll && changes.length === 0) return
    this.#mustLook = true
    const keys = changes.flatMap((change) => (change.keys === 'all' ? [] : change.keys))
    await look(isAll ? undefined : [...new Set(keys)])
    this.#mustLook = false
  }

  async #write({ mode, tracker }: FakeNftablesNode): Promise<void> {
    tracker.want(mode.program.takeChanges())
    const change = tracker.pending(this.#clock.now())
    if (change.set.length + change.unset.length === 0) return
    const result = await mode.apply(change)
    tracker.confirm(change, result, this.#clock.now())
    if (result.uncertain) this.#mustLook = true
  }
}

/** The kernel after a daemon started with these entries, and with nothing of an earlier run. */
export async function freshKernel(
  families: readonly Family[],
  entries: ReadonlyMap<EntryId, ForwardingEntry>,
): Promise<FakeNamespace> {
  const node = fakeNftablesNode({ settings: { families } })
  await node.sync(...[...entries.values()].toReversed())
  return node.namespace
}
