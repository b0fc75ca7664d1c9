import fc from 'fast-check'
import { expect, test } from 'vitest'
import { a, openFakeUpstream, response } from './testing/fake-upstream.ts'
import { openForwarder } from './testing/forward-fixtures.ts'

const RUNS = 300
const mutation = fc.tuple(fc.nat(200), fc.nat(255))
const mutations = fc.tuple(fc.array(mutation, { maxLength: 8 }), fc.nat(80))

test('behind any mutated reply there is the right answer, what the mutated one says, or a failure', async () => {
  let [changes, cut]: [[number, number][], number] = [[], 0]
  await using upstream = await openFakeUpstream((query) => {
    const name = query.packet.questions?.[0]?.name ?? ''
    const right = response(query, { answers: [a(name, '192.0.2.1'), a(name, '192.0.2.2')] })
    const mutated = Buffer.from(right)
    for (const [at, byte] of changes) mutated[at % mutated.length] = byte
    query.reply(mutated.subarray(0, mutated.length - (cut > 40 ? cut - 40 : 0)))
    query.reply(right)
  })
  await using setup = openForwarder([upstream], { failureMs: 0, staleMs: 0 })
  let count = 0
  await fc.assert(
    fc.asyncProperty(mutations, async (next) => {
      ;[changes, cut] = next
      const name = `n${count++}.example.com`
      const answer = await setup.query(name)
      const names = answer.fault === undefined ? answer.answers.map((each) => each.name) : []
      expect(answer.fault ?? 'unanswered').toBe('unanswered')
      expect(names.every((each) => each === name)).toBe(true)
    }),
    { numRuns: RUNS },
  )
  expect(setup.results.filter((result) => result === 'upstream').length).toBeGreaterThan(20)
  upstream.behave((query) => query.reply(response(query, { answers: [a('last', '192.0.2.1')] })))
  await setup.clock.advance(60_000)
  expect(await setup.query('last')).toMatchObject({ answers: [{ data: '192.0.2.1' }] })
})
