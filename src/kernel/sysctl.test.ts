import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ProcSysctl, type Sysctl } from './sysctl.ts'
import { FakeSysctl } from './testing/fake-sysctl.ts'

const FORWARD = 'net/ipv4/ip_forward'
let root: string

beforeAll(() => {
  root = mkdtempSync(`${tmpdir()}/np-sysctl-`)
  mkdirSync(`${root}/net/ipv4/conf/eth0.5`, { recursive: true })
})

afterAll(() => rmSync(root, { recursive: true }))

const kinds: [string, () => Sysctl][] = [
  ['real', () => (writeFileSync(`${root}/${FORWARD}`, '0\n'), new ProcSysctl(root))],
  ['fake', () => new FakeSysctl({ [FORWARD]: '0' })],
]

test.each(kinds)('%s: writes only what is wrong', (_, open) => {
  const sysctl = open()
  expect(sysctl.read(FORWARD)).toBe('0')
  expect(sysctl.ensure(FORWARD, '0')).toBe(false)
  expect(sysctl.ensure(FORWARD, '1')).toBe(true)
  expect(sysctl.ensure(FORWARD, '1')).toBe(false)
  expect(sysctl.read(FORWARD)).toBe('1')
})

test.each(kinds)('%s: a setting that does not exist', (_, open) => {
  const sysctl = open()
  expect(sysctl.read('net/ipv4/nope')).toBeUndefined()
  expect(() => sysctl.ensure('net/ipv4/nope', '1')).toThrowError(
    expect.objectContaining({ code: 'NP_KERNEL_SYSCTL', object: 'net/ipv4/nope' }),
  )
})

test('a setting that has the value is not written', () => {
  writeFileSync(`${root}/net/ipv4/tuple`, '1\t2\t3\n')
  expect(new ProcSysctl(root).ensure('net/ipv4/tuple', '1 2 3')).toBe(false)
  expect(readFileSync(`${root}/net/ipv4/tuple`, 'utf8')).toBe('1\t2\t3\n')
})

test('the error of a setting that cannot be written names the remedy', () => {
  mkdirSync(`${root}/net/ipv4/directory`, { recursive: true })
  expect(() => new ProcSysctl(root).ensure('net/ipv4/directory', '1')).toThrowError(
    expect.objectContaining({ code: 'NP_KERNEL_SYSCTL' }),
  )
  const fake = new FakeSysctl({ [FORWARD]: '0' })
  fake.readOnly.add(FORWARD)
  expect(() => fake.ensure(FORWARD, '1')).toThrowError('cannot be set')
})

test.each(['../../etc/passwd', 'net/../../x', '/net/ipv4', 'net', 'net/ipv4/', 'net//x'])(
  'refuses the path %j',
  (path) => {
    expect(() => new ProcSysctl(root).read(path)).toThrow(TypeError)
  },
)

test('an interface name may contain a dot', () => {
  writeFileSync(`${root}/net/ipv4/conf/eth0.5/route_localnet`, '0')
  expect(new ProcSysctl(root).ensure('net/ipv4/conf/eth0.5/route_localnet', '1')).toBe(true)
})
