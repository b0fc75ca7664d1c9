import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { findEngine } from './reachable-engine.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'np-reach-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

async function listening(path: string, status: number) {
  const server = createServer((request, response) => {
    response.writeHead(request.url === '/_ping' ? status : 404).end()
  })
  await new Promise<void>((resolve) => server.listen(path, resolve))
  return server
}

test('an engine that answers at DOCKER_HOST is found', async () => {
  await using _server = await listening(join(folder, 'a.sock'), 200)
  const uri = `unix://${join(folder, 'a.sock')}`
  expect(await findEngine({ DOCKER_HOST: uri })).toEqual({ uri })
})

test('an engine of the user is found without being named', async () => {
  await using _server = await listening(join(folder, 'docker.sock'), 200)
  const uri = `unix://${join(folder, 'docker.sock')}`
  expect(await findEngine({ XDG_RUNTIME_DIR: folder, HOME: folder })).toEqual({ uri })
})

test('one that refuses, or is not there, is not; and the reason says which', async () => {
  await using _server = await listening(join(folder, 'a.sock'), 500)
  const refusing = `unix://${join(folder, 'a.sock')}`
  expect(await findEngine({ DOCKER_HOST: refusing })).toEqual({
    unreachable: `${refusing}: answers with 500`,
    isConfigured: true,
  })
  expect(await findEngine({ DOCKER_HOST: `unix://${folder}/none` })).toMatchObject({
    unreachable: expect.stringContaining('ENOENT'),
    isConfigured: true,
  })
})

test('addresses that need more than a socket are believed', async () => {
  const uri = 'ssh://root@192.0.2.1'
  expect(await findEngine({ DOCKER_HOST: uri })).toEqual({ uri })
})
