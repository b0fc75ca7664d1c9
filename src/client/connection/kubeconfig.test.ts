import { once } from 'node:events'
import type { TLSSocket } from 'node:tls'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { systemClock } from '../../lib/clock.ts'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import { createApiClient } from '../http/api-client.ts'
import type { ScriptedServer } from '../testing/scripted-server.ts'
import { answerJson, answerStatus, startScriptedServer } from '../testing/scripted-server.ts'
import type { TemporaryFolder } from '../testing/temporary-folder.ts'
import { createTemporaryFolder } from '../testing/temporary-folder.ts'
import { base64, certificates } from '../testing/test-certificates.ts'
import type { Connection } from './connection.ts'
import { loadKubeconfig } from './kubeconfig.ts'

let folder: TemporaryFolder
let server: ScriptedServer | undefined
beforeEach(() => {
  folder = createTemporaryFolder()
})
afterEach(async () => {
  folder.remove()
  await server?.close()
  server = undefined
})

interface Parts {
  readonly cluster?: Readonly<Record<string, unknown>>
  readonly user?: Readonly<Record<string, unknown>>
}

/** Writes a kubeconfig (JSON is YAML) and loads it. */
async function load({ cluster, user }: Parts, master?: string): Promise<Connection> {
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'here',
    contexts: [
      { name: 'there', context: { cluster: 'nowhere' } },
      { name: 'here', context: { cluster: 'c', ...(user === undefined ? {} : { user: 'u' }) } },
    ],
    clusters: [{ name: 'c', cluster: { server: 'https://127.0.0.1:1', ...cluster } }],
    users: user === undefined ? [] : [{ name: 'u', user }],
  }
  const path = folder.write('kubeconfig', JSON.stringify(config))
  return loadKubeconfig({ path, master, clock: systemClock })
}

/** What a TLS server that requests client certificates sees, or why the client refused the server. */
async function visit(
  parts: (url: string) => Parts,
  identity: { readonly cert: string; readonly key: string } = certificates.server,
): Promise<unknown> {
  server = await startScriptedServer(
    ({ request, response, headers }) =>
      answerJson(response, 200, {
        authorization: headers.authorization ?? null,
        client: (request.socket as TLSSocket).getPeerCertificate().subject?.CN ?? null,
        alpn: (request.socket as TLSSocket).alpnProtocol,
      }),
    { tls: { ...identity, ca: certificates.ca, requestCert: true, rejectUnauthorized: false } },
  )
  const connection = await load(parts(server.url))
  const client = createApiClient({ connection, clock: systemClock, userAgent: 'test' })
  const result = await client.get('/x')
  await client.close()
  return result.ok ? result.value : result.failure
}

const ca = { 'certificate-authority-data': base64(certificates.ca) }

test('trusts the inline authority and shows the inline client certificate and token', async () => {
  const seen = await visit((url) => ({
    cluster: { server: url, ...ca },
    user: {
      token: 'tok-en',
      'client-certificate-data': base64(certificates.client.cert),
      'client-key-data': base64(certificates.client.key),
    },
  }))
  expect(seen).toMatchObject({ authorization: 'Bearer tok-en', client: 'node-proxy test client' })
})

test('reads files relative to the kubeconfig', async () => {
  folder.write('pki/ca.pem', certificates.ca)
  folder.write('pki/client.pem', certificates.client.cert)
  folder.write('pki/client-key.pem', certificates.client.key)
  const seen = await visit((url) => ({
    cluster: { server: url, 'certificate-authority': 'pki/ca.pem' },
    user: { 'client-certificate': 'pki/client.pem', 'client-key': 'pki/client-key.pem' },
  }))
  expect(seen).toMatchObject({ authorization: null, client: 'node-proxy test client' })
})

test('does not talk to a server that its authority did not sign', async () => {
  const seen = await visit((url) => ({ cluster: { server: url }, user: { token: 'tok-en' } }))
  expect(seen).toMatchObject({ errorCode: 'NP_CLIENT_TLS', reason: 'Certificate' })
  expect(server?.arrivals).toEqual([])
})

test('does not talk to a server of another name, unless tls-server-name names it', async () => {
  const wrong = await visit((url) => ({ cluster: { server: url, ...ca } }), certificates.named)
  expect(wrong).toMatchObject({ errorCode: 'NP_CLIENT_TLS' })
  await server?.close()
  const right = await visit(
    (url) => ({ cluster: { server: url, ...ca, 'tls-server-name': 'api.test' } }),
    certificates.named,
  )
  expect(right).toMatchObject({ authorization: null })
})

test('insecure-skip-tls-verify connects to any server', async () => {
  const seen = await visit((url) => ({
    cluster: { server: url, 'insecure-skip-tls-verify': true },
    user: { username: 'ann', password: 'pass:word' },
  }))
  expect(seen).toMatchObject({ authorization: `Basic ${base64('ann:pass:word')}` })
})

test('offers nothing but HTTP/1.1', async () => {
  const seen = await visit((url) => ({ cluster: { server: url, ...ca } }))
  expect(seen).not.toMatchObject({ alpn: 'h2' })
})

test('a rotated certificate is used by the next connection', async () => {
  folder.write('ca.pem', certificates.ca)
  server = await startScriptedServer(({ response }) => answerJson(response, 200, {}), {
    tls: certificates.server,
  })
  const cluster = { server: server.url, 'certificate-authority': 'ca.pem' }
  const connection = await load({ cluster })
  folder.write('ca.pem', certificates.client.cert)
  const client = createApiClient({ connection, clock: systemClock, userAgent: 'test' })
  expect(await client.get('/x')).toMatchObject({ failure: { errorCode: 'NP_CLIENT_TLS' } })
  folder.write('ca.pem', certificates.ca)
  expect(await client.get('/x')).toMatchObject({ ok: true })
  await client.close()
})

/** A user of the server with a client certificate. */
function certified(identity: { readonly cert: string; readonly key: string }): Parts {
  const [cert, key] = [base64(identity.cert), base64(identity.key)]
  const user = { 'client-certificate-data': cert, 'client-key-data': key }
  return { cluster: { server: server!.url, ...ca }, user }
}

test('a client certificate that was replaced in the file is shown after a 401', async () => {
  const seen: unknown[] = []
  server = await startScriptedServer(
    ({ request, response }) => {
      seen.push((request.socket as TLSSocket).getPeerCertificate().subject?.CN)
      answerJson(response, seen.length === 2 ? 401 : 200, {})
    },
    { tls: { ...certificates.server, requestCert: true, rejectUnauthorized: false } },
  )
  const connection = await load(certified(certificates.client))
  const client = createApiClient({ connection, clock: systemClock, userAgent: 'test' })
  expect(await client.get('/x')).toMatchObject({ ok: true })
  await load(certified(certificates.named))
  expect(await client.get('/x')).toMatchObject({ ok: true })
  const [before, after] = ['node-proxy test client', 'node-proxy test server by name']
  expect(seen).toEqual([before, before, after])
  folder.write('kubeconfig', 'not: [a kubeconfig')
  expect(await client.get('/x')).toMatchObject({ ok: true })
  await client.close()
})

test('a watch of a connection that was replaced ends with the client', async () => {
  server = await startScriptedServer(
    ({ url, response }) => {
      if (url.pathname === '/watch') response.writeHead(200).flushHeaders()
      else answerJson(response, server!.arrivals.length === 3 ? 401 : 200, {})
    },
    { tls: { ...certificates.server, requestCert: true, rejectUnauthorized: false } },
  )
  const connection = await load(certified(certificates.client))
  const client = createApiClient({ connection, clock: systemClock, userAgent: 'test' })
  expect(await client.watch('/watch', { lifetimeMs: 600_000 })).toMatchObject({ ok: true })
  expect(await client.get('/x')).toMatchObject({ ok: true })
  await load(certified(certificates.named))
  expect(await client.get('/x')).toMatchObject({ ok: true })
  const ended = once(server.arrivals[0]!.response, 'close')
  await client.close()
  await ended
})

test('a token never travels over plain HTTP', async () => {
  server = await startScriptedServer(({ response, headers }) =>
    answerJson(response, 200, { authorization: headers.authorization ?? null }),
  )
  const connection = await load({ cluster: { server: server.url }, user: { token: 'tok-en' } })
  const client = createApiClient({ connection, clock: systemClock, userAgent: 'test' })
  expect(await client.get('/x')).toEqual({ ok: true, value: { authorization: null } })
  await client.close()
})

test('a token file is read again after a 401, and the request repeated once', async () => {
  const file = folder.write('token', 'old\n')
  server = await startScriptedServer(
    ({ response, headers }) => {
      if (headers.authorization === 'Bearer new') return answerJson(response, 200, {})
      folder.write('token', 'new\n')
      return answerJson(response, 401, { kind: 'Status', reason: 'Unauthorized' })
    },
    { tls: certificates.server },
  )
  const connection = await load({
    cluster: { server: server.url, ...ca },
    user: { tokenFile: file, token: 'ignored' },
  })
  const client = createApiClient({ connection, clock: systemClock, userAgent: 'test' })
  expect(await client.get('/x')).toMatchObject({ ok: true })
  expect(server.arrivals.map(({ headers }) => headers.authorization)).toEqual([
    'Bearer old',
    'Bearer new',
  ])
  await client.close()
})

test('each of several requests that were refused with a replaced token is repeated', async () => {
  const parts = (token: string): Parts => ({
    cluster: { server: server!.url, ...ca },
    user: { token },
  })
  server = await startScriptedServer(
    ({ response, headers }) => {
      if (headers.authorization === 'Bearer new') answerJson(response, 200, {})
    },
    { tls: certificates.server },
  )
  const connection = await load(parts('old'))
  const client = createApiClient({ connection, clock: systemClock, userAgent: 'test' })
  const answers = [client.get('/a'), client.get('/b')]
  const [first, second] = [await server.arrival(1), await server.arrival(2)]
  await load(parts('new'))
  answerStatus(first.response, 401, 'Unauthorized')
  await server.arrival(3)
  answerStatus(second.response, 401, 'Unauthorized')
  expect(await Promise.all(answers)).toMatchObject([{ ok: true }, { ok: true }])
  await client.close()
})

test('a credential plugin may bring a certificate, and a new one opens a new connection', async () => {
  const answer = (identity: { readonly cert: string; readonly key: string }): string => {
    const status = { clientCertificateData: identity.cert, clientKeyData: identity.key }
    const apiVersion = 'client.authentication.k8s.io/v1'
    const credential = { kind: 'ExecCredential', apiVersion, status }
    return folder.write('answer', JSON.stringify(credential))
  }
  folder.write('plugin', '#!/bin/sh\ncat "$1"\n', 0o700)
  const seen: unknown[] = []
  server = await startScriptedServer(
    ({ request, response }) => {
      seen.push((request.socket as TLSSocket).getPeerCertificate().subject?.CN)
      if (seen.length > 1) return answerJson(response, 200, {})
      answer(certificates.named)
      return answerJson(response, 401, {})
    },
    { tls: { ...certificates.server, requestCert: true, rejectUnauthorized: false } },
  )
  const exec = {
    apiVersion: 'client.authentication.k8s.io/v1',
    command: './plugin',
    args: [answer(certificates.client)],
  }
  const connection = await load({ cluster: { server: server.url, ...ca }, user: { exec } })
  const client = createApiClient({ connection, clock: systemClock, userAgent: 'test' })
  expect(await client.get('/x')).toMatchObject({ ok: true })
  expect(seen).toEqual(['node-proxy test client', 'node-proxy test server by name'])
  await client.close()
})

test('--master replaces the server and nothing else', async () => {
  const connection = await load({ cluster: ca, user: { token: 't' } }, 'https://other:7443/base/')
  expect(connection).toMatchObject({ origin: 'https://other:7443', basePath: '/base' })
  expect(await connection.credentials.current()).toEqual({ authorization: 'Bearer t' })
  expect((await connection.tls?.material())?.ca).toBe(certificates.ca)
})

test.each<[string, Parts, RegExp]>([
  ['proxy-url', { cluster: { 'proxy-url': 'http://p' } }, /proxy-url is not supported/],
  ['no server', { cluster: { server: '' } }, /server is missing/],
  ['a server that is no URL', { cluster: { server: 'https://[' } }, /cluster.server is not a URL/],
  ['an ftp server', { cluster: { server: 'ftp://x' } }, /scheme "ftp:"/],
  [
    'a password in the URL',
    { cluster: { server: 'https://a:b@x' } },
    /contains a user or password/,
  ],
  ['no base64', { cluster: { 'certificate-authority-data': '!' } }, /-data is not base64/],
  [
    'no PEM',
    { cluster: { 'certificate-authority-data': base64('x') } },
    /certificate-authority is not a PEM certificate/,
  ],
  ['skip and CA', { cluster: { ...ca, 'insecure-skip-tls-verify': true } }, /contradicts/],
  ['a flag as text', { cluster: { 'insecure-skip-tls-verify': 'yes' } }, /must be true or false/],
  ['a missing file', { cluster: { 'certificate-authority': 'gone.pem' } }, /cannot be read/],
  [
    'a certificate alone',
    { user: { 'client-certificate-data': base64(certificates.client.cert) } },
    /must come together/,
  ],
  [
    'a key of another certificate',
    {
      user: {
        'client-certificate-data': base64(certificates.client.cert),
        'client-key-data': base64(certificates.server.key),
      },
    },
    /client-key is not the PEM key of client-certificate/,
  ],
  ['a user without password', { user: { username: 'ann' } }, /must come together/],
  [
    'a token with a newline',
    { user: { token: 'se\ncret' } },
    /characters that are not allowed in a token/,
  ],
  ['impersonation', { user: { as: 'bob' } }, /as is not supported/],
  [
    'auth-provider',
    { user: { 'auth-provider': { name: 'gcp' } } },
    /auth-provider is not supported/,
  ],
  [
    'exec v1alpha1',
    { user: { exec: { apiVersion: 'client.authentication.k8s.io/v1alpha1' } } },
    /apiVersion must be one of/,
  ],
  [
    'exec that is interactive',
    {
      user: {
        exec: {
          apiVersion: 'client.authentication.k8s.io/v1',
          command: 'x',
          interactiveMode: 'Always',
        },
      },
    },
    /plugins get no terminal/,
  ],
])('refuses %s', async (_, parts, message) => {
  const error: unknown = await load(parts).catch((refusal: unknown) => refusal)
  expect(error).toMatchObject({ name: 'NodeProxyError', message: expect.stringMatching(message) })
})

test.each<[string, string, RegExp]>([
  [
    'text that is no YAML',
    'users:\n- user: {token: "hunter2\n',
    /not YAML at line \d+, column \d+/,
  ],
  ['a list', '- hunter2', /current-context is missing/],
  ['an unknown context', 'current-context: gone', /contexts has no entry named "gone"/],
  ['contexts that are no list', 'current-context: x\ncontexts: hunter2', /contexts must be a list/],
  [
    'an alias bomb',
    `a: &a [x,x,x,x,x,x,x,x,x]\n${['b', 'c', 'd', 'e', 'f', 'g'].map((name, i) => `${name}: &${name} [${`*${'abcdef'[i]},`.repeat(9)}]`).join('\n')}`,
    /too many YAML aliases/,
  ],
])('refuses %s without showing what is in the file', async (_, text, message) => {
  const path = folder.write('kubeconfig', text)
  const error = await loadKubeconfig({ path, master: undefined, clock: systemClock }).catch(
    (refusal: unknown) => refusal,
  )
  expect(error).toMatchObject({
    code: 'NP_CLIENT_KUBECONFIG',
    object: path,
    message: expect.stringMatching(message),
  })
  expect(String(error)).not.toContain('hunter2')
})

test.each([
  ['2130-01-01', 'our client certificate expired at 2126-'],
  ['1990-01-01', 'our client certificate is not valid before 20'],
  ['2030-01-01', undefined],
])('a 401 in %s names what is wrong with the certificate: %s', async (date, fault) => {
  server = await startScriptedServer(
    ({ response }) => answerStatus(response, 401, 'Unauthorized'),
    {
      tls: certificates.server,
    },
  )
  const { cert, key } = certificates.client
  const user = { 'client-certificate-data': base64(cert), 'client-key-data': base64(key) }
  const cluster = { server: server.url, 'certificate-authority-data': base64(certificates.ca) }
  const connection = await load({ cluster, user })
  const clock = new FakeClock(Date.parse(date))
  const client = createApiClient({ connection, clock, userAgent: 'test' })
  const answer = await client.get('/x')
  await client.close()
  const message = answer.ok ? '' : answer.failure.message
  expect(message.startsWith('scripted Unauthorized')).toBe(true)
  expect(message.slice('scripted Unauthorized'.length)).toEqual(
    fault === undefined ? '' : expect.stringContaining(fault),
  )
})
