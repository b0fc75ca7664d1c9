import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { EntryId, ForwardingEntry, Frontend } from '../../../forwarding/entry.ts'
import type { Family } from '../../../lib/ip.ts'
import type { Digest, ObjectKey } from '../../mode.ts'
import {
  AFFINITIES,
  backend,
  cidr,
  entry,
  frontend,
  ip,
  settings,
} from '../../testing/mode-fixtures.ts'
import { keyOfElement, objectOf } from '../keys/object-key.ts'
import { digestOfContent } from './content.ts'
import { NftablesProgram } from './program.ts'

const HISTORIES = Number(process.env['NP_HISTORIES'] ?? 250)

function addWanted(program: NftablesProgram, wanted: Map<ObjectKey, Digest>) {
  for (const [key, digest] of program.takeChanges()) {
    if (digest === undefined) wanted.delete(key)
    else wanted.set(key, digest)
  }
  return wanted
}

const change = fc.record({
  name: fc.nat(6),
  family: fc.constantFrom<Family>(4, 6),
  address: fc.nat(4),
  weights: fc.array(fc.nat(3), { maxLength: 3 }),
  isGone: fc.boolean(),
  isNodePort: fc.boolean(),
  isLimited: fc.boolean(),
  isLocal: fc.boolean(),
  affinity: fc.constantFrom(...AFFINITIES),
})
type Change = typeof change extends fc.Arbitrary<infer T> ? T : never

/** Few addresses, so that entries often claim the same. */
function entryOf({ family, address, ...given }: Change): ForwardingEntry {
  const at = (v4: string, v6: string) => (family === 4 ? v4 : v6)
  const cluster = given.weights.map((weight, n) =>
    backend(at(`10.180.0.${n + 1}`, `fd00:180::${n + 1}`), { weight }),
  )
  const external: Partial<Frontend> = given.isLocal
    ? { pool: 'local', shortCircuit: true, masquerade: 'onNode' }
    : { masquerade: 'always' }
  const range = cidr(at('192.0.2.0/24', '2001:db8::/32'))
  return entry({
    id: `s${given.name}/${family}` as EntryId,
    family,
    frontends: [
      frontend({
        ip: ip(at(`172.30.0.${address}`, `fd00:30::${address + 1}`)),
        ...(given.isLimited ? { sourceRanges: [range] } : {}),
      }),
      ...(given.isNodePort
        ? [frontend({ kind: 'nodePort', ip: 'node', port: 30_000 + address, ...external })]
        : []),
    ],
    pools: { cluster, local: given.isLocal ? cluster.slice(0, 1) : [] },
    affinity: given.affinity,
  })
}

test(`any of ${HISTORIES} histories ends in the objects of a fresh program`, () => {
  fc.assert(
    fc.property(fc.array(change, { minLength: 1, maxLength: 30 }), (history) => {
      const program = new NftablesProgram(SETTINGS)
      const entries = new Map<EntryId, ForwardingEntry>()
      const wanted = new Map<ObjectKey, Digest>()
      for (const [step, given] of history.entries()) {
        const one = entryOf(given)
        if (given.isGone) entries.delete(one.id)
        else entries.set(one.id, one)
        program.replace(one.id, given.isGone ? undefined : one)
        if (step % 5 === 0) addWanted(program, wanted)
      }
      addWanted(program, wanted)
      const fresh = new NftablesProgram(SETTINGS)
      for (const [id, one] of [...entries].reverse()) fresh.replace(id, one)
      expect(wanted).toEqual(addWanted(fresh, new Map()))
      expectConsistent(program, wanted)
    }),
    { numRuns: HISTORIES },
  )
}, 600_000)

/** No address but the loopback ones serves node ports: fewer constant elements to hash for each program. */
const SETTINGS = settings()

/** The content of each object has its digest, and no element belongs to another object. */
function expectConsistent(program: NftablesProgram, wanted: ReadonlyMap<ObjectKey, Digest>): void {
  for (const [key, digest] of wanted) {
    if (program.ownersOf(key).length === 0) continue
    const content = program.contentOf(key)
    expect(content && digestOfContent(content)).toBe(digest)
    if (content?.kind !== 'frontend') continue
    for (const { set, element } of content.elements) {
      expect(keyOfElement(objectOf(key).family, set, element.key)).toBe(key)
    }
  }
}
