import { mkdirSync, readdirSync, readFileSync, readlinkSync, rmSync, statSync } from 'node:fs'
import { symlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import { createTemporaryFolder, type TemporaryFolder } from '../testing/temporary-folder.ts'
import type { RenewableToken } from './credential/credential.ts'
import { loadKubeconfig } from './kubeconfig.ts'

let folder: TemporaryFolder
let clock: FakeClock
beforeEach(() => {
  folder = createTemporaryFolder()
  clock = new FakeClock()
})
afterEach(() => folder.remove())

const text = (token: string): string => `# of this node
apiVersion: v1
kind: Config
current-context: here
contexts:
  - name: here
    context: { cluster: c, user: u }
clusters:
  - name: c
    cluster: { server: "https://127.0.0.1:1" }
users:
  - name: other
    user: { token: theirs }
  - name: u
    user:
      token: ${token} # given by an operator
`

async function load(path = folder.write('kubeconfig', text('one'))) {
  const { credentials } = await loadKubeconfig({ path, master: undefined, clock })
  const renewable = credentials.renewable as RenewableToken
  const used = async () => (await credentials.current()).authorization?.replace('Bearer ', '')
  return { path, credentials, renewable, used }
}

test('a token that was replaced in the file is used after a minute, or at once after a 401', async () => {
  const { credentials, used } = await load()
  folder.write('kubeconfig', text('two'))
  expect(await used()).toBe('one')
  await clock.advance(60_000)
  expect(await used()).toBe('two')
  folder.write('kubeconfig', text('after the clock was set back'.replaceAll(' ', '-')))
  clock.elapse(-7_200_000)
  expect(await used()).toBe('after-the-clock-was-set-back')
  folder.write('kubeconfig', text('two'))
  expect(await credentials.reject()).toBe(true)
  folder.write('kubeconfig', text('three'))
  expect(await used()).toBe('two')
  expect(await credentials.reject()).toBe(true)
  expect(await used()).toBe('three')
  expect(await credentials.reject()).toBe(false)
})

test.each([
  ['is no YAML', 'a: ['],
  ['has no such user', 'users: []'],
  ['has a user without a token', 'users: [{ name: u, user: {} }]'],
  ['has a token that cannot be sent', 'users: [{ name: u, user: { token: "a b" } }]'],
])('while the file %s, the last token stays', async (_, broken) => {
  const { credentials, used } = await load()
  folder.write('kubeconfig', broken)
  expect(await credentials.reject()).toBe(false)
  expect(await used()).toBe('one')
  folder.write('kubeconfig', text('two'))
  expect(await credentials.reject()).toBe(true)
  expect(await used()).toBe('two')
})

test('a renewed token is used and written; comments, other users, mode and a link stay', async () => {
  const target = folder.write('real/kubeconfig', text('one'), 0o640)
  const path = join(folder.path, 'linked')
  await symlink(target, path)
  const { renewable, used } = await load(path)
  expect(await renewable.replace('two')).toBeUndefined()
  expect([await used(), renewable.present()]).toEqual(['two', 'two'])
  expect(readFileSync(target, 'utf8')).toBe(text('two'))
  expect(statSync(target).mode & 0o777).toBe(0o640)
  expect(readlinkSync(path)).toBe(target)
  expect(readdirSync(dirname(target))).toEqual(['kubeconfig'])
  expect(await renewable.replace('three')).toBeUndefined()
  expect((await load(path)).renewable.present()).toBe('three')
})

test('a token that another program wrote meanwhile is used, and stays in the file', async () => {
  const { path, renewable, used } = await load()
  folder.write('kubeconfig', text('theirs'))
  expect(await renewable.replace('two')).toBeUndefined()
  expect(await used()).toBe('theirs')
  expect(readFileSync(path, 'utf8')).toBe(text('theirs'))
})

test('a renewed token that cannot be written is used all the same, until the file has another one', async () => {
  // That of the partial file beside it would be longer than a name may be.
  const name = 'k'.repeat(250)
  const { path, renewable, used } = await load(folder.write(name, text('one')))
  expect(await renewable.replace('two')).toBe('ENAMETOOLONG')
  expect(readFileSync(path, 'utf8')).toBe(text('one'))
  await clock.advance(60_000)
  expect(await used()).toBe('two')
  folder.write(name, text('three'))
  await clock.advance(60_000)
  expect(await used()).toBe('three')
})

test('a kubeconfig that is gone is named', async () => {
  const { path, renewable, used } = await load()
  rmSync(path)
  expect(await renewable.replace('two')).toBe(`the kubeconfig "${path}" cannot be read`)
  expect(await used()).toBe('two')
  mkdirSync(path)
  expect(await renewable.replace('three')).toBe(`the kubeconfig "${path}" cannot be read`)
})
