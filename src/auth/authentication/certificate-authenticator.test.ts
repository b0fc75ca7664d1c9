import { expect, test } from 'vitest'
import { certificateAuthenticator } from './certificate-authenticator.ts'

function userOf(commonNames: readonly string[], organizations: readonly string[] = []) {
  return certificateAuthenticator.authenticate({ certificate: { commonNames, organizations } })
}

test('the common name is the user, the organizations are its groups', async () => {
  expect(await userOf(['ann'], ['dev', 'ops', 'dev'])).toEqual({
    user: { name: 'ann', groups: ['dev', 'ops', 'system:authenticated'] },
  })
  expect(await userOf(['ann'])).toEqual({ user: { name: 'ann', groups: ['system:authenticated'] } })
})

test.each([
  ['none', []],
  ['an empty one', ['']],
  ['two', ['ann', 'root']],
  ['two, one of them empty', ['ann', '']],
])('a certificate whose common name is %s is rejected', async (_what, names) => {
  expect(await userOf(names, ['system:masters'])).toEqual({ rejected: expect.any(String) })
})

test('a request without a certificate is for another authenticator', async () => {
  expect(await certificateAuthenticator.authenticate({ bearerToken: 'x' })).toBe(undefined)
})
