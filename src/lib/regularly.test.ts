import { expect, it } from 'vitest'
import { follow, regularly } from './regularly.ts'
import { FakeClock } from './testing/fake-clock.ts'

it('waits for a round to end before it plans the next one, also for one that fails', async () => {
  const clock = new FakeClock()
  const reported: unknown[] = []
  const slow = Promise.withResolvers<void>()
  const rounds = [() => Promise.reject(new Error('no luck')), () => slow.promise]
  const round = async (): Promise<void> => {
    reported.push('round')
    await rounds.shift()?.()
  }
  const stop = regularly({
    clock,
    everyMs: 10,
    round,
    onError: (error) => reported.push(String(error)),
  })
  await clock.advance(9)
  expect(reported).toEqual([])
  await clock.advance(1)
  expect(reported).toEqual(['round', 'Error: no luck'])
  await clock.advance(100)
  expect(reported).toHaveLength(3)
  slow.resolve()
  await clock.advance(10)
  expect(reported).toHaveLength(4)
  stop()
  expect(clock.pending()).toEqual([])
})

it('plans nothing after it was ended in the middle of a round', async () => {
  const clock = new FakeClock()
  const open = Promise.withResolvers<void>()
  const stop = regularly({
    clock,
    everyMs: 10,
    round: () => open.promise,
    onError: () => undefined,
  })
  await clock.advance(10)
  stop()
  open.resolve()
  await clock.advance(0)
  expect(clock.pending()).toEqual([])
})

interface Certificate {
  readonly cert: string
  readonly key: string
}

const first: Certificate = { cert: '1', key: '1' }

/** What happens when the time comes, with one answer of the source for each time. */
function following(...answers: readonly (Certificate | Error)[]) {
  const recorded: unknown[] = []
  let due: (() => void) | undefined
  let planned = (): void => undefined
  const left = [...answers]
  const end = follow({
    first,
    read: async () => {
      const answer = left.shift()!
      if (answer instanceof Error) throw answer
      return answer
    },
    clock: {
      after: (_ms, task) => {
        due = task
        planned()
        return () => (due = undefined)
      },
    },
    onChange: async (next) => void recorded.push(next.cert),
    onError: (error) => recorded.push((error as Error).message),
  })
  /** Lets the time pass until it has looked and waits again. */
  const pass = (): Promise<void> =>
    new Promise((resolve) => {
      planned = resolve
      due!()
    })
  return { recorded, pass, end, isWaiting: () => due !== undefined }
}

it('takes over another certificate, and only another one', async () => {
  const { recorded, pass } = following(
    { ...first },
    { ...first, cert: '2' },
    { ...first, cert: '2' },
  )
  await pass()
  expect(recorded).toEqual([])
  await pass()
  await pass()
  expect(recorded).toEqual(['2'])
})

it('goes on with what it has when there is a failure', async () => {
  const { recorded, pass } = following(new Error('no'), { ...first, cert: '2' })
  await pass()
  await pass()
  expect(recorded).toEqual(['no', '2'])
})

it('ends', () => {
  const { end, isWaiting } = following()
  expect(isWaiting()).toBe(true)
  end()
  expect(isWaiting()).toBe(false)
})

it('reports each change once, and goes on after a file that cannot be read', async () => {
  const clock = new FakeClock()
  const recorded: string[] = []
  const files = ['a', 'b', undefined, 'b', 'c'].map((name) => name && Buffer.from(name))
  const stop = follow({
    clock,
    first: Buffer.from('a'),
    read: async () => files.shift() || Promise.reject(new Error('half')),
    onChange: (next) => void recorded.push(String(next)),
    onError: (error) => void recorded.push(String(error)),
  })
  for (let round = 0; round < 5; round++) await clock.advance(10_000)
  expect(recorded).toEqual(['b', 'Error: half', 'c'])
  stop()
  expect(clock.pending()).toEqual([])
})
