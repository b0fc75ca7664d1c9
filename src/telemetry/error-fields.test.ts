import { expect, it } from 'vitest'
import { NodeProxyError } from '../lib/error.ts'
import { errorFields } from './logger.ts'

it('shows code, hint and causes of an expected error, without its stack', () => {
  const cause = Object.assign(new Error('refused'), { code: 'ECONNREFUSED' })
  const error = new NodeProxyError('NP_X', 'no luck', { object: 'a/b', hint: 'try', cause })
  expect(errorFields(error)).toEqual({
    code: 'NP_X',
    message: 'no luck',
    object: 'a/b',
    hint: 'try',
    cause: { code: 'ECONNREFUSED', message: 'refused' },
  })
})

it('shows the stack of a bug', () => {
  expect(errorFields(new TypeError('bug'))).toEqual({
    type: 'TypeError',
    message: 'bug',
    stack: expect.stringContaining('error-fields.test.ts'),
  })
  expect(errorFields('text')).toBe('text')
})

it('ends on a cause that is its own cause', () => {
  const error = new Error('loop')
  error.cause = error
  expect(JSON.stringify(errorFields(error)).length).toBeLessThan(100_000)
})
