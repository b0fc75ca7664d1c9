import { valueAt } from '../../lib/json.ts'
import type { CommandContext } from '../command/context.ts'

/** Whether the API server accepts a token, for its own audiences unless others are given; undefined: it could not be queried. */
export async function reviewToken(
  token: string,
  audiences: readonly string[],
  context: CommandContext,
): Promise<boolean | undefined> {
  const { api } = await context.session()
  const answer = await api.request({
    method: 'POST',
    path: '/apis/authentication.k8s.io/v1/tokenreviews',
    body: {
      ...{ apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview' },
      spec: { token, ...(audiences.length > 0 && { audiences: [...audiences] }) },
    },
  })
  if (answer.ok) return valueAt(answer.value.body, 'status', 'authenticated') === true
  context.notice(`the API server was not queried about the token: ${answer.failure.message}`)
  return undefined
}
