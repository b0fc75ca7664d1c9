import { constants } from 'node:os'
import { setImmediate } from 'node:timers/promises'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { FakeConntrack } from '../../kernel/conntrack/testing/fake-conntrack.ts'
import type { Command } from '../../kernel/nftables/objects.ts'
import { FakeNamespace } from '../../kernel/nftables/testing/fake-namespace.ts'
import { FakeNftables } from '../../kernel/nftables/testing/fake-nftables.ts'
import { FakeObjectMonitor } from '../../kernel/nftables/testing/fake-object-monitor.ts'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import type { PolicyContent } from '../policy-content.ts'
import { type EnforcerSettings, PolicyEnforcer } from './enforcer.ts'
import { CHAIN, SET, TABLE, tableOf } from './render.ts'
import { judgePacket, type Packet } from './testing/judge-packet.ts'
import { passes } from './testing/packet-walk.ts'
import { EMPTY, ScriptedSource } from './testing/scripted-source.ts'
import { someContent, somePacket } from './testing/some-content.ts'

const HISTORIES = Number(process.env['NP_HISTORIES'] ?? 250)
const { EEXIST, ENOMEM, EOPNOTSUPP } = constants.errno

/** What happens on a node. */
type Step =
  | { readonly kind: 'content'; readonly content: PolicyContent; readonly fails: Failure }
  | { readonly kind: 'settings'; readonly settings: EnforcerSettings }
  | { readonly kind: 'restart'; readonly damage: Damage | undefined }
  | { readonly kind: 'damage'; readonly damage: Damage }
type Failure = 'no' | 'refused' | 'named' | 'lost' | 'lost but applied' | 'a set' | 'a chain'
type Damage = 'flush' | 'no table' | 'no rules' | 'no elements' | 'more' | 'other form'

const settings: fc.Arbitrary<EnforcerSettings> = fc.record({
  unknownPods: fc.constantFrom('allow', 'deny'),
  logDeniedPerSecond: fc.constantFrom(0, 5, 100),
  establishedConnections: fc.constantFrom('cut', 'keep'),
})
const damage = fc.constantFrom<Damage>(
  ...(['flush', 'no table', 'no rules', 'no elements', 'more', 'other form'] as const),
)
const failure = fc.constantFrom<Failure>(
  ...(['no', 'no', 'no', 'refused', 'named', 'lost', 'lost but applied'] as const),
  ...(['a set', 'a chain'] as const),
)
const someStep: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constant('content'), content: someContent, fails: failure }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('settings'), settings }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('restart'),
      damage: fc.option(damage, { nil: undefined }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('damage'), damage }) },
)

/** A node whose kernel has persistent tables or has not. */
class Node {
  readonly clock = new FakeClock()
  readonly namespace = new FakeNamespace(this.clock)
  readonly #isPersistent: boolean
  readonly #packets: readonly Packet[]
  readonly faults: string[] = []
  content: PolicyContent = EMPTY
  settings: EnforcerSettings
  nftables!: FakeNftables
  #enforcer!: PolicyEnforcer<PolicyContent>
  #open = new Set<Packet>()
  /** Whether packets that policies admit may be lost for a moment. */
  #isDamaged = false

  constructor(isPersistent: boolean, first: EnforcerSettings, packets: readonly Packet[] = []) {
    this.#isPersistent = isPersistent
    this.#packets = packets
    this.settings = first
    this.namespace.listen(() => this.#check())
  }

  async start(): Promise<void> {
    const { clock, namespace } = this
    this.nftables = new FakeNftables(namespace)
    if (!this.#isPersistent) {
      this.nftables.refuse(
        EOPNOTSUPP,
        (one) => one.do === 'addTable' && one.spec?.isPersistent === true,
      )
    }
    const monitor = new FakeObjectMonitor(namespace, {
      table: TABLE,
      exceptPort: this.nftables.port,
    })
    this.#enforcer = new PolicyEnforcer({
      model: new ScriptedSource(this.content),
      nftables: this.nftables,
      monitor,
      conntrack: new FakeConntrack(),
      clock,
      wallClock: clock,
      families: [4, 6],
      settings: this.settings,
      observer: {
        applied: () => undefined,
        drifted: () => undefined,
        failed: () => undefined,
        flowsCut: () => undefined,
        flowsFailed: () => undefined,
      },
      isNodeAddress: () => false,
    })
    this.#enforcer.setSynced()
    await this.settle()
  }

  async run(step: Step): Promise<void> {
    this.#open = new Set(this.#packets.filter((packet) => passes(this.namespace, packet)))
    this.#isDamaged = true
    switch (step.kind) {
      case 'content': {
        this.#isDamaged = step.fails !== 'no'
        const done = this.#fail(step.fails)
        this.content = step.content
        this.#enforcer.enqueue([step.content])
        await this.settle(500)
        done()
        break
      }
      case 'settings':
        this.settings = step.settings
        this.#enforcer.configure(step.settings)
        break
      case 'restart':
        await this.#enforcer.stop()
        this.nftables.close()
        if (step.damage) this.#damage(step.damage)
        await this.start()
        break
      case 'damage':
        this.#damage(step.damage)
    }
    await this.settle()
  }

  /** Lets everything happen that is due within so many milliseconds: longer than a few attempts take. */
  async settle(ms = 10_000): Promise<void> {
    const end = this.clock.now() + ms
    for (;;) {
      // Nothing of the fakes takes longer than the turn of the event loop in which it began.
      await setImmediate()
      const [next] = this.clock.pending()
      if (next === undefined || this.clock.now() + next > end) break
      await this.clock.advance(next)
    }
    this.clock.elapse(end - this.clock.now())
  }

  async stop(): Promise<void> {
    await this.#enforcer.stop()
    this.nftables.close()
  }

  #fail(how: Failure): () => void {
    const { nftables } = this
    const isSet = (one: Command) => 'set' in one && one.set === 'pods-a'
    const isChain = (one: Command) =>
      one.do === 'addChain' && ['a-ingress', 'deny-x-egress'].includes(one.chain)
    switch (how) {
      case 'no':
        return () => undefined
      case 'refused':
        nftables.failNext({ kind: 'refused', errno: ENOMEM }, 2)
        return () => undefined
      case 'named':
        nftables.failNext({ kind: 'refused', errno: EEXIST, command: 0 })
        return () => undefined
      case 'lost':
      case 'lost but applied':
        nftables.failNext(how === 'lost' ? { kind: 'lost' } : { kind: 'lost', applied: true })
        return () => undefined
      case 'a set':
        return nftables.refuse(ENOMEM + 1, isSet)
      case 'a chain':
        return nftables.refuse(ENOMEM + 1, isChain)
    }
  }

  /** What other programs do; refused for a table with an owner. */
  #damage(how: Damage): void {
    const [table, set] = [tableOf(4), SET.ingress]
    switch (how) {
      case 'flush':
        this.namespace.alter({ do: 'flushRuleset' })
        return
      case 'no table':
        this.namespace.alter({ do: 'deleteTable', table })
        return
      case 'no rules':
        this.namespace.alter({ do: 'flushTable', table })
        return
      case 'no elements':
        this.namespace.alter({ do: 'flushSet', table, set })
        return
      case 'more': {
        const [chain, extra] = ['foreign', 'more']
        this.namespace.alter(
          { do: 'addChain', table, chain },
          { do: 'addRule', table, chain, rule: { expressions: [{ type: 'counter' }] } },
          { do: 'addSet', table, set: extra, spec: { key: ['ipv4_addr'], data: 'verdict' } },
          {
            do: 'addElements',
            table,
            set: extra,
            elements: [{ key: Buffer.from([1, 2, 3, 4]), data: { kind: 'goto', chain } }],
          },
          { do: 'addRule', table, chain: CHAIN.fromBeginning, rule: { expressions: [] } },
        )
        return
      }
      case 'other form':
        this.namespace.alter(
          { do: 'deleteTable', table },
          { do: 'addTable', table },
          { do: 'addSet', table, set, spec: { key: ['ipv4_addr'] } },
        )
    }
  }

  /** After each transaction: nothing is open that was closed and is not admitted, nothing lost that is admitted. */
  #check(): void {
    for (const packet of this.#packets) {
      const [is, was] = [passes(this.namespace, packet), this.#open.has(packet)]
      const isAdmitted = judgePacket(this.content, packet, this.settings)
      const isOurs = this.nftables.transactions.length > 0
      if (is && !was && !isAdmitted && isOurs) this.faults.push(`opened ${JSON.stringify(packet)}`)
      if (was && !is && isAdmitted && !this.#isDamaged)
        this.faults.push(`lost ${JSON.stringify(packet)}`)
      if (is) this.#open.add(packet)
      else this.#open.delete(packet)
    }
  }

  /** Packets whose fate is another one than the policies say. */
  misjudged(): readonly Packet[] {
    return this.#packets.filter(
      (packet) =>
        passes(this.namespace, packet) !== judgePacket(this.content, packet, this.settings),
    )
  }
}

test(`any of ${HISTORIES} histories ends as a fresh start, and opens nothing on its way`, async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.boolean(),
      settings,
      fc.array(someStep, { minLength: 1, maxLength: 8 }),
      fc.array(somePacket, { minLength: 20, maxLength: 20 }),
      async (isPersistent, first, steps, packets) => {
        const node = new Node(isPersistent, first, packets)
        await node.start()
        for (const step of steps) {
          const isOfOthers = step.kind === 'damage' || step.kind === 'restart'
          await node.run(step)
          // What others open is closed again; what they opened is no fault of ours.
          if (isOfOthers) node.faults.length = 0
          expect(node.misjudged()).toEqual([])
        }
        expect(node.faults).toEqual([])
        const fresh = new Node(isPersistent, node.settings)
        fresh.content = node.content
        await fresh.start()
        expect(node.namespace.dump()).toEqual(fresh.namespace.dump())
        await node.stop()
        await fresh.stop()
      },
    ),
    { numRuns: HISTORIES },
  )
}, 600_000)
