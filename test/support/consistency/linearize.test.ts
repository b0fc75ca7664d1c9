import fc from 'fast-check'
import { expect, test } from 'vitest'
import { linearize, type Model } from './linearize.ts'
import { type ObjectInput, type ObjectOutput, objectModel } from './object-model.ts'
import type { Operation } from './operation.ts'

type ObjectOperation = Operation<ObjectInput, ObjectOutput>

const written = ['a', 'b'] as const

const input: fc.Arbitrary<ObjectInput> = fc.oneof(
  fc.record({ verb: fc.constant('create'), written: fc.constantFrom(...written) }),
  fc.record({
    verb: fc.constant('update'),
    version: fc.integer({ min: 1, max: 3 }),
    written: fc.constantFrom(...written),
    patched: fc.constant(''),
  }),
  fc.record({ verb: fc.constant('patch'), patched: fc.constantFrom('p', 'q') }),
  fc.record({ verb: fc.constant('delete') }),
  fc.record({ verb: fc.constant('read') }),
  fc.record({ verb: fc.constant('read') }),
)

/** Answers of the right kind, mostly; whether they fit is for the checker to say. */
function outputFor(input: ObjectInput): fc.Arbitrary<ObjectOutput> {
  const seen = fc.record({
    written: 'written' in input ? fc.constant(input.written) : fc.constantFrom(...written),
    patched: 'patched' in input ? fc.constant(input.patched) : fc.constantFrom('', '', 'p'),
    version: fc.integer({ min: 1, max: 3 }),
  })
  const object = seen.map((seen) => ({ result: 'object', object: seen }) as const)
  const other = { create: 'exists', update: 'conflict', delete: 'deleted' } as const
  const results = [
    input.verb in other ? other[input.verb as 'create'] : 'absent',
    'absent',
  ] as const
  const plain = fc.constantFrom(...results).map((result) => ({ result }))
  return input.verb === 'delete' ? plain : fc.oneof(object, object, plain)
}

/** Called and answered in a random order of moments, the answer after the call. */
const history: fc.Arbitrary<readonly ObjectOperation[]> = fc
  .array(
    input.chain((input) =>
      fc.record({
        input: fc.constant(input),
        output: fc.option(outputFor(input), { freq: 5, nil: undefined }),
        called: fc.integer({ min: 0, max: 12 }),
        lasts: fc.integer({ min: 1, max: 6 }),
      }),
    ),
    { maxLength: 5 },
  )
  .map((drafts) =>
    drafts.map(({ input, output, called, lasts }, client) => ({
      client,
      input,
      called,
      answer: output && { at: called + lasts + 0.5, output },
    })),
  )

/** Every order of every choice of operations that holds all that were answered. */
function someOrderFits(
  model: Model<unknown, ObjectInput, ObjectOutput>,
  state: unknown,
  left: readonly ObjectOperation[],
): boolean {
  if (left.every(({ answer }) => answer === undefined)) return true
  return left.some((one) => {
    const others = left.filter((other) => other !== one)
    if (others.some(({ answer }) => answer !== undefined && answer.at < one.called)) return false
    const next = model.step(state, one.input, one.answer?.output)
    return next !== undefined && someOrderFits(model, next, others)
  })
}

test('says the same as trying every order', () => {
  const seen = { linearizable: 0, impossible: 0, undecided: 0 }
  const check = (operations: readonly ObjectOperation[]): void => {
    const { verdict } = linearize(objectModel, operations)
    seen[verdict]++
    const model = objectModel as Model<unknown, ObjectInput, ObjectOutput>
    const fits = someOrderFits(model, objectModel.initial, operations)
    expect(verdict).toBe(fits ? 'linearizable' : 'impossible')
  }
  fc.assert(fc.property(history, check), { numRuns: 3000, seed: 5 })
  expect(Math.min(seen.linearizable, seen.impossible)).toBeGreaterThan(300)
})

test('long histories with many lost answers are decided', () => {
  const operations: ObjectOperation[] = []
  let time = 0
  let version = 1
  const add = (input: ObjectInput, output: ObjectOutput | undefined): void => {
    operations.push({ client: 0, input, called: time++, answer: output && { at: time++, output } })
  }
  for (let round = 0; round < 300; round++) {
    const [one, lost] = [`w${round}`, `l${round}`]
    add({ verb: 'create', written: one }, object(one, '', version++))
    if (round % 4 === 0) add({ verb: 'delete', version: 1 }, undefined)
    if (round % 4 === 1) add({ verb: 'patch', patched: lost }, undefined)
    if (round % 4 === 2) add({ verb: 'create', written: lost }, undefined)
    add({ verb: 'read' }, object(one, '', version - 1))
    add({ verb: 'delete' }, { result: 'deleted' })
    add({ verb: 'read' }, { result: 'absent' })
  }
  expect(linearize(objectModel, operations, 200_000).verdict).toBe('linearizable')
})

function object(written: string, patched: string, version: number): ObjectOutput {
  return { result: 'object', object: { written, patched, version } }
}
