import { expect, it } from 'vitest'
import { followCertificate } from './follow-certificate.ts'
import type { ServingCertificate } from './serving-certificate.ts'

const first: ServingCertificate = { cert: '1', key: '1', authority: 'a' }

/** What happens when the time comes, with one answer of the source for each time. */
function follow(...answers: readonly (ServingCertificate | Error)[]) {
  const told: unknown[] = []
  let due: (() => void) | undefined
  let planned = (): void => undefined
  const left = [...answers]
  const end = followCertificate({
    first,
    source: {
      current: async () => {
        const answer = left.shift()!
        if (answer instanceof Error) throw answer
        return answer
      },
    },
    clock: {
      now: () => 0,
      after: (_ms, task) => {
        due = task
        planned()
        return () => (due = undefined)
      },
    },
    onChange: async (next) => void told.push(next.cert),
    onFailure: (error) => told.push((error as Error).message),
  })
  /** Lets the time pass until it has looked and waits again. */
  const pass = (): Promise<void> =>
    new Promise((resolve) => {
      planned = resolve
      due!()
    })
  return { told, pass, end, isWaiting: () => due !== undefined }
}

it('takes over another certificate, and only another one', async () => {
  const { told, pass } = follow({ ...first }, { ...first, cert: '2' }, { ...first, cert: '2' })
  await pass()
  expect(told).toEqual([])
  await pass()
  await pass()
  expect(told).toEqual(['2'])
})

it('goes on with what it has when there is a failure', async () => {
  const { told, pass } = follow(new Error('no'), { ...first, cert: '2' })
  await pass()
  await pass()
  expect(told).toEqual(['no', '2'])
})

it('ends', () => {
  const { end, isWaiting } = follow()
  expect(isWaiting()).toBe(true)
  end()
  expect(isWaiting()).toBe(false)
})
