import { expect, test } from 'vitest'
import { staticTokens } from './static-tokens.ts'

const FILE = `# users of the operations team
t0ken,ann,u-1,"dev,ops"
other,bob,,
"quoted",eve,
ha#sh,tom,
`

async function userOf(text: string, bearerToken: string) {
  const found = await staticTokens(text, 'users.csv').authenticate({ bearerToken })
  return found && 'user' in found ? found.user : undefined
}

test('each token is a user', async () => {
  expect(await userOf(FILE, 't0ken')).toEqual({
    name: 'ann',
    uid: 'u-1',
    groups: ['dev', 'ops', 'system:authenticated'],
  })
  expect(await userOf(FILE, 'other')).toEqual({ name: 'bob', groups: ['system:authenticated'] })
  expect(await userOf(FILE, 'quoted')).toMatchObject({ name: 'eve' })
  expect(await userOf(FILE, 'ha#sh')).toMatchObject({ name: 'tom' })
})

test.each(['', 'T0KEN', 't0ken ', 'ann', '#', '__proto__'])('%j is no token', async (token) => {
  expect(await userOf(FILE, token)).toBe(undefined)
})

test('a request without a token is for another authenticator', async () => {
  expect(await staticTokens(FILE, 'users.csv').authenticate({})).toBe(undefined)
})

test.each([
  ['a,b', 'record 1 has fewer than three fields'],
  ['a,b,c,d,e', 'record 1 has more than four fields'],
  [',ann,u', 'record 1 has an empty token'],
  ['secret,,u', 'record 1 has an empty user name'],
  ['se cret,ann,u', 'record 1 has a token with a space in it'],
  ['x,a,1\nsecret,ann,u\nsecret,bob,u', 'record 3 has the token of an earlier record'],
  ['x,a,1\nsecret,"ann,u', 'is not a record of comma-separated values'],
])('%j is refused without showing a token', (text, message) => {
  let error: unknown
  try {
    staticTokens(text, 'users.csv')
  } catch (caught) {
    error = caught
  }
  expect(error).toMatchObject({ code: 'NP_AUTH_TOKEN_FILE' })
  expect(String(error)).toContain(message)
  expect(JSON.stringify(error) + String(error)).not.toContain('secret')
})
