import fc from 'fast-check'
import { expect, test } from 'vitest'
import { asBeforeOrAfter } from '../../../test/support/modes/half-change/judgement.ts'
import { RecordedUserspace } from '../../../test/support/modes/half-change/recorded-userspace.ts'
import {
  entryOf,
  packetsOf,
  type SomeService,
  someChange,
  V4,
  V6,
} from '../../../test/support/modes/half-change/some-service.ts'
import { userspaceEnds } from '../../../test/support/modes/half-change/userspace-walk.ts'
import { cidr } from '../testing/mode-fixtures.ts'
import { FakeForwarder } from './testing/fake-forwarder.ts'

/** Each takes some tens of milliseconds. */
const RUNS = Number(process.env['NP_HISTORIES'] ?? 40)

type Given = SomeService | undefined

test.each([
  ['IPv4', V4],
  ['IPv6', V6],
])(
  'a packet of %s that meets half a change ends where it did before or does after it',
  async (_, at) => {
    const packets = packetsOf(at, [at.pod, at.node, at.client, at.excluded])
    const ports = new FakeForwarder().ports.get(at.family)!
    const entriesOf = (given: Given) => (given === undefined ? [] : [entryOf(given, at)])
    await fc.assert(
      fc.asyncProperty(someChange, fc.boolean(), async ([one, other], knowsRanges) => {
        const netfilter = knowsRanges ? { serviceRanges: [cidr(at.services)] } : {}
        const { mode, sync, states } = new RecordedUserspace({ at, packets, netfilter })
        await sync(...entriesOf(one))
        states.splice(0, states.length - 1)
        for (const { id } of entriesOf(one)) mode.program.replace(id, undefined)
        const { failed } = await sync(...entriesOf(other))
        expect(failed).toEqual(new Map())
        const strange: string[] = []
        for (const packet of packets) {
          const endsIn = (some: typeof states) => userspaceEnds(some, packet, { at, ports })
          const [before, after] = [await endsIn(states.slice(0, 1)), await endsIn(states.slice(-1))]
          const mayBe = asBeforeOrAfter({ before: [...before], after: [...after] })
          for (const end of await endsIn(states)) {
            if (!mayBe(end)) strange.push(`${packet.from} to ${packet.to}: ${end}`)
          }
        }
        expect(strange).toEqual([])
      }),
      { numRuns: RUNS },
    )
  },
)
