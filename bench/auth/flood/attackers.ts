import { randomBytes } from 'node:crypto'
import { Pool } from 'undici'
import { newSigningKey } from '../../../src/auth/testing/forge.ts'
import { sign } from '../../../src/auth/tokens/token-issuer.ts'
import type { ServerReport } from '../requests/report.ts'

const KINDS = 4
const MANY = 200
const REPORT_MS = 100

type Order = ServerReport & { readonly connections: number }

/**
 * Sends bad tokens as fast as the server refuses them, until it is killed: random text, tokens that another key signed,
 * tokens with a changed signature, and tokens with an unknown key. Every tenth token was sent before. Writes lines with
 * the number of answers so far, from the first answer on.
 */
async function main({ url, ca, token = '', connections }: Order): Promise<void> {
  const tokens = await badTokens(token)
  const pool = new Pool(url, { connections, connect: { ca } })
  let next = 0
  let answered = 0
  const attack = async (): Promise<never> => {
    for (;;) {
      const bad = tokens[next++ % tokens.length]!
      // A new token each time, which the server cannot have cached.
      const sent = next % 10 === 0 ? bad : bad.slice(0, -8) + randomBytes(6).toString('base64url')
      const headers = { authorization: `Bearer ${sent}` }
      const answer = await pool.request({ method: 'GET', path: '/api/v1/pods', headers })
      await answer.body.dump()
      if (answer.statusCode !== 401)
        throw new Error(`a bad token was answered ${answer.statusCode}`)
      answered++
    }
  }
  setInterval(() => {
    if (answered > 0) process.stdout.write(`${answered}\n`)
  }, REPORT_MS)
  await Promise.all(Array.from({ length: connections }, attack))
}

async function badTokens(good: string): Promise<readonly string[]> {
  const [header = '', payload = '', signature = ''] = good.split('.')
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as {
    [key: string]: never
  }
  const key = newSigningKey()
  const { kid } = JSON.parse(Buffer.from(header, 'base64url').toString()) as { kid: string }
  const all = await Promise.all(
    Array.from({ length: MANY }, async (_, index) => {
      const kinds = [
        randomBytes(400).toString('base64url'),
        await sign({ ...claims, jti: `forged-${index}` }, { ...key, id: kid }),
        `${header}.${payload}.${randomBytes(64).toString('base64url')}${signature.slice(86)}`,
        await sign({ ...claims, jti: `unknown-${index}` }, key),
      ]
      return kinds[index % KINDS]!
    }),
  )
  return all
}

await main(JSON.parse(process.argv[2] ?? '') as Order)
