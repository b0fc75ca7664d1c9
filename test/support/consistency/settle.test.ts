import { expect, test } from 'vitest'
import { sampleLine, sampleList, sampleService, sampleUnanswered } from './sample.ts'
import { readsOf, settle } from './settle.ts'

test('an unanswered write has happened if its token was seen, at the first version that shows it', () => {
  const seen = sampleUnanswered('a', { verb: 'create', written: 'w1' })
  const unseen = sampleUnanswered('a', { verb: 'create', written: 'w9' })
  const deletion = sampleUnanswered('a', { verb: 'delete' })
  const [first, patched] = [sampleLine('ADDED a 1'), sampleLine('MODIFIED a 2')]
  const later = { ...patched, object: sampleService('a', 2, 'w1') }
  const settled = settle([seen, unseen, deletion], [first, later])
  expect(settled).toEqual([
    {
      ...seen,
      answer: {
        at: Number.POSITIVE_INFINITY,
        output: { result: 'object', object: { written: 'w1', patched: '', version: 1 } },
      },
    },
    deletion,
  ])
})

test('a list is a read of every name', () => {
  const list = sampleList(3, 'a 2')
  expect(readsOf([list], 'a')).toMatchObject([{ answer: { output: { object: { version: 2 } } } }])
  expect(readsOf([list], 'b')).toMatchObject([{ answer: { output: { result: 'absent' } } }])
})
