import { expect, test } from 'vitest'
import type { User } from '../user.ts'
import type { AccountAuthentication } from './account-authenticator.ts'
import type { Authentication } from './authenticator.ts'
import { TokenReviewer } from './token-reviewer.ts'

const OWN = 'https://orch'
const ANN: User = { name: 'ann', groups: [] }

/** A reviewer, and the audiences that accounts were reviewed for. */
function reviewer(
  account: AccountAuthentication | undefined,
  ...others: readonly (Authentication | undefined)[]
) {
  const requested: (readonly string[])[] = []
  const tokens = new TokenReviewer({
    accounts: {
      review: (_token, audiences) => {
        requested.push(audiences)
        return Promise.resolve(account)
      },
    },
    others: others.map((answer) => ({ authenticate: () => Promise.resolve(answer) })),
    audiences: [OWN, 'own2'],
  })
  return { tokens, requested }
}

test('accounts are reviewed for the audiences of the question, or for those of the server', async () => {
  const { tokens, requested } = reviewer({ user: ANN, audiences: ['vault'] })
  await tokens.review('t', ['vault', 'x'])
  await tokens.review('t', [])
  expect(requested).toEqual([
    ['vault', 'x'],
    [OWN, 'own2'],
  ])
})

test('a token of an account that is rejected is not given to another authenticator', async () => {
  const { tokens } = reviewer({ rejected: 'it has expired' }, { user: ANN })
  expect(await tokens.review('t', [])).toEqual({ rejected: 'it has expired' })
})

test('the token of another user is for this server alone', async () => {
  const { tokens } = reviewer(undefined, undefined, { user: ANN })
  expect(await tokens.review('t', [])).toEqual({ user: ANN, audiences: [OWN, 'own2'] })
  expect(await tokens.review('t', ['vault', OWN])).toEqual({ user: ANN, audiences: [OWN] })
  expect(await tokens.review('t', ['vault'])).toHaveProperty('rejected')
})

test('a rejection ends the search, and a token that none knows is rejected', async () => {
  const { tokens } = reviewer(undefined, { rejected: 'it has expired' }, { user: ANN })
  expect(await tokens.review('t', [])).toEqual({ rejected: 'it has expired' })
  expect(await reviewer(undefined, undefined).tokens.review('t', [])).toHaveProperty('rejected')
})
