import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { JsonObject } from '../lib/json.ts'
import { runOrchctl } from './program.ts'

const PATH = '/api/v1/namespaces/default/configmaps/web'
const DISCOVERY: Readonly<Record<string, JsonObject>> = {
  '/api': { kind: 'APIVersions', versions: ['v1'] },
  '/apis': { kind: 'APIGroupList', groups: [] },
  '/api/v1': {
    kind: 'APIResourceList',
    resources: [
      {
        name: 'configmaps',
        singularName: 'configmap',
        kind: 'ConfigMap',
        namespaced: true,
        verbs: ['get', 'update'],
      },
    ],
  },
}

/** Version `version` of the object that is edited. */
function object(version: number): JsonObject {
  const metadata = { name: 'web', namespace: 'default', resourceVersion: String(version) }
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { of: 'the server' } }
}

function refusal(code: number, reason: string, message: string): JsonObject {
  return { kind: 'Status', apiVersion: 'v1', status: 'Failure', code, reason, message }
}

/** The answer to the writing number `n`, from 0; undefined: the connection is cut off. */
type AnswerWrite = (n: number) => JsonObject | undefined

/** Edits the object with an editor that adds a key at its first call, and then does what `then` says. */
async function edit(answerWrite: AnswerWrite, then: 'leaves it' | 'fails') {
  let [reads, writes] = [0, 0]
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '', 'http://api')
    const document = request.method === 'PUT' ? answerWrite(writes++) : answerRead(pathname)
    if (document === undefined) response.destroy()
    else send(response, document)
  })
  const answerRead = (path: string): JsonObject =>
    path === PATH ? object(++reads) : (DISCOVERY[path] ?? refusal(404, 'NotFound', 'no such path'))
  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const home = mkdtempSync(join(tmpdir(), 'np-edit-'))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
    rmSync(home, { recursive: true })
  })
  const editor = join(home, 'editor')
  const later = then === 'fails' ? 'exit 3' : 'exit 0'
  writeFileSync(editor, `mkdir ${home}/called || ${later}\necho '  added: by the user' >> "$1"\n`)
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  let err = ''
  const code = await runOrchctl(['edit', 'configmap', 'web', '--server', url], {
    stdin: (async function* () {})(),
    stdout: { write: () => true },
    stderr: { write: (some) => (err += some) },
    env: { HOME: home, ORCH_EDITOR: `sh ${editor}` },
    version: '1',
    signal: new AbortController().signal,
  })
  const [, kept = ''] = /your text is in (\S+\/object\.yaml)/.exec(err) ?? []
  const text = existsSync(kept) ? readFileSync(kept, 'utf8') : ''
  if (kept !== '') rmSync(dirname(kept), { recursive: true, force: true })
  return { code, err, text, writes }
}

function send(response: ServerResponse, document: JsonObject): void {
  const { code = 200 } = document
  response.writeHead(Number(code), { 'content-type': 'application/json' })
  response.end(JSON.stringify(document))
}

test('what the user wrote stays when the server does not answer', async () => {
  const { code, text } = await edit(() => undefined, 'leaves it')
  expect([code, text]).toEqual([3, expect.stringContaining('added: by the user')])
})

test('and when the editor fails after a refusal', async () => {
  const refused = refusal(422, 'Invalid', 'data is wrong')
  const { code, err, text } = await edit(() => refused, 'fails')
  expect([code, err]).toEqual([1, expect.stringContaining('exit 3')])
  expect(text).toContain('added: by the user')
})

test('after a conflict, the refusal of the second attempt is what the user sees', async () => {
  const answers = [refusal(409, 'Conflict', 'changed'), refusal(403, 'Forbidden', 'not at night')]
  const { code, err, text, writes } = await edit((n) => answers[n], 'leaves it')
  expect([code, writes, err]).toEqual([1, 2, expect.stringContaining('Forbidden: not at night')])
  expect(text).toContain('added: by the user')
})
