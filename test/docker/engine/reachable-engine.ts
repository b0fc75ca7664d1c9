import { existsSync } from 'node:fs'
import { request } from 'node:http'
import { homedir } from 'node:os'
import { join } from 'node:path'

/** Where a Docker engine answers, or why none does. */
export type Reach =
  | { readonly uri: string }
  | { readonly unreachable: string /** By DOCKER_HOST. */; readonly isConfigured: boolean }

const TIMEOUT_MS = 5_000

/**
 * Looks for an engine where the docker command would, and where rootless ones
 * listen. An address that is neither a socket nor plain TCP (TLS, SSH) was
 * explicit, and is taken as it is.
 */
export async function findEngine(env: NodeJS.ProcessEnv = process.env): Promise<Reach> {
  const uri = env['DOCKER_HOST'] || socketsOf(env).find((socket) => existsSync(socket))
  if (uri === undefined) {
    return {
      unreachable: 'there is no /var/run/docker.sock and no DOCKER_HOST',
      isConfigured: false,
    }
  }
  const address = uri.startsWith('/') ? `unix://${uri}` : uri
  const silence = await whySilent(address, env)
  if (silence === undefined) return { uri: address }
  return { unreachable: `${address}: ${silence}`, isConfigured: Boolean(env['DOCKER_HOST']) }
}

function socketsOf(env: NodeJS.ProcessEnv): readonly string[] {
  const runtime = env['XDG_RUNTIME_DIR']
  return [
    '/var/run/docker.sock',
    ...(runtime ? [join(runtime, 'docker.sock')] : []),
    join(env['HOME'] ?? homedir(), '.docker/run/docker.sock'),
  ]
}

async function whySilent(address: string, env: NodeJS.ProcessEnv): Promise<string | undefined> {
  const { protocol, hostname, port, pathname } = new URL(address)
  if (protocol === 'unix:') return ping({ socketPath: pathname })
  if (protocol === 'tcp:' && !env['DOCKER_TLS_VERIFY']) return ping({ hostname, port })
  return undefined
}

type EngineAddress =
  | { readonly socketPath: string }
  | { readonly hostname: string; readonly port: string }

function ping(address: EngineAddress): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>()
  const sent = request({ ...address, path: '/_ping', timeout: TIMEOUT_MS }, (answer) => {
    answer.resume()
    resolve(answer.statusCode === 200 ? undefined : `answers with ${answer.statusCode}`)
  })
  sent.on('timeout', () => sent.destroy(new Error(`no answer in ${TIMEOUT_MS} ms`)))
  sent.on('error', ({ message }) => resolve(message))
  sent.end()
  return promise
}
