import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { EntryId, ForwardingEntry } from '../../forwarding/entry.ts'
import type { Digest, ObjectKey } from '../mode.ts'
import { backend, entry, frontend, ip, settings } from '../testing/mode-fixtures.ts'
import { digestOfContent } from './content.ts'
import { keyOfElement, objectOf } from './keys/object-key.ts'
import { NftablesProgram } from './program.ts'

const HISTORIES = Number(process.env['NP_HISTORIES'] ?? 300)

function wantedBy(program: NftablesProgram, known = new Map<ObjectKey, Digest>()) {
  for (const [key, digest] of program.takeChanges()) {
    if (digest === undefined) known.delete(key)
    else known.set(key, digest)
  }
  return known
}

const change = fc.record({
  name: fc.nat(6),
  address: fc.nat(4),
  weights: fc.array(fc.nat(3), { maxLength: 3 }),
  isGone: fc.boolean(),
  isNodePort: fc.boolean(),
  isLocal: fc.boolean(),
  isSticky: fc.boolean(),
})

function entryOf(given: typeof change extends fc.Arbitrary<infer T> ? T : never): ForwardingEntry {
  const cluster = given.weights.map((weight, n) => backend(`10.180.0.${n + 1}`, { weight }))
  const external = given.isLocal
    ? ({ pool: 'local', shortCircuit: true, masquerade: 'onNode' } as const)
    : ({ masquerade: 'always' } as const)
  const nodePort = frontend({
    kind: 'nodePort',
    ip: 'node',
    port: 30_000 + given.address,
    ...external,
  })
  const vip = frontend({ ip: ip(`172.30.0.${given.address}`) })
  return entry({
    id: `s${given.name}` as EntryId,
    frontends: given.isNodePort ? [vip, nodePort] : [vip],
    pools: { cluster, local: given.isLocal ? cluster.slice(0, 1) : [] },
    affinity: given.isSticky ? { seconds: 60 } : undefined,
  })
}

test(`any of ${HISTORIES} histories ends in the objects of a fresh program`, () => {
  fc.assert(
    fc.property(fc.array(change, { minLength: 1, maxLength: 30 }), (history) => {
      const program = new NftablesProgram(settings({ families: [4] }))
      const entries = new Map<EntryId, ForwardingEntry>()
      const wanted = new Map<ObjectKey, Digest>()
      for (const [step, given] of history.entries()) {
        const one = entryOf(given)
        if (given.isGone) entries.delete(one.id)
        else entries.set(one.id, one)
        program.replace(one.id, given.isGone ? undefined : one)
        if (step % 5 === 0) wantedBy(program, wanted)
      }
      wantedBy(program, wanted)
      const fresh = new NftablesProgram(settings({ families: [4] }))
      for (const [id, one] of [...entries].reverse()) fresh.replace(id, one)
      expect(wanted).toEqual(wantedBy(fresh))
      for (const [key, digest] of wanted) {
        if (program.ownersOf(key).length === 0) continue
        const content = program.contentOf(key)
        expect(content && digestOfContent(content)).toBe(digest)
        if (content?.kind !== 'frontend') continue
        for (const { set, element } of content.elements) {
          expect(keyOfElement(objectOf(key).family, set, element.key)).toBe(key)
        }
      }
    }),
    { numRuns: HISTORIES },
  )
}, 300_000)
