import { X509Certificate } from 'node:crypto'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { belongTogether } from '../../lib/tls/pem.ts'
import { openAuthority } from '../certificates/authority.ts'
import { newFolder } from '../testing/new-folder.ts'
import { runProgram } from './program.ts'

async function run(dataDir: string, ...args: string[]) {
  let [out, err] = ['', '']
  const code = await runProgram(['node-certificate', `--data-dir=${dataDir}`, ...args], {
    stdout: { write: (text) => (out += text) },
    stderr: { write: (text) => (err += text) },
    version: '1.2.3',
    loadServer: () => Promise.reject(new Error('nothing is to be served')),
  })
  return { code, out, err }
}

test('a certificate for the addresses of the node, which the authority of the server signed', async () => {
  const [dataDir, output] = [newFolder(), join(newFolder(), 'node')]
  const authority = await openAuthority(join(dataDir, 'pki'), Date.now())
  const wanted = ['--node=n1', '--address=192.0.2.7', '--address=fd00::7', '--valid-for=24h']
  const { code, out, err } = await run(dataDir, ...wanted, `--output=${output}`)
  expect([code, out]).toEqual([0, ''])
  expect(err).toMatch(/the certificate of node "n1" is valid until .*pki\/ca\.crt\n$/)
  const [cert, key] = ['tls.crt', 'tls.key'].map((name) => readFileSync(join(output, name), 'utf8'))
  const made = new X509Certificate(cert!)
  expect(belongTogether(cert!, key!)).toBe(true)
  expect(
    made.checkIssued(authority.certificate) && made.verify(authority.certificate.publicKey),
  ).toBe(true)
  expect(made.subjectAltName).toBe('DNS:n1, IP Address:192.0.2.7, IP Address:FD00:0:0:0:0:0:0:7')
  expect(made.keyUsage).toEqual(['1.3.6.1.5.5.7.3.1'])
  expect(made.validToDate.getTime() - Date.now()).toBeLessThanOrEqual(24 * 3_600_000)
  expect(statSync(join(output, 'tls.key')).mode & 0o777).toBe(0o600)
})

test.each([
  [['--address=192.0.2.7', '--output=x'], /--node: "".*name of the Node/],
  [['--node=n1', '--output=x'], /--address.*InternalIP/],
  [['--node=n1', '--address=here', '--output=x'], /--address: "here"/],
  [['--node=n1', '--address=192.0.2.7', '--valid-for=1s', '--output=x'], /--valid-for: "1s"/],
  [['--node=n1', '--address=192.0.2.7'], /--output: write a folder/],
  [
    ['--node=n1', '--address=192.0.2.7', '--valid-for=1000000h', '--output=x'],
    /after its authority/,
  ],
])('%j is refused', async (args, message) => {
  const dataDir = newFolder()
  await openAuthority(join(dataDir, 'pki'), Date.now())
  const { code, err } = await run(dataDir, ...args)
  expect([code, err]).toEqual([2, expect.stringMatching(message)])
  expect(existsSync('x')).toBe(false)
})

test('without an authority nothing is made', async () => {
  const dataDir = newFolder()
  const { code, err } = await run(
    dataDir,
    '--node=n1',
    '--address=192.0.2.7',
    `--output=${dataDir}/n`,
  )
  expect([code, err]).toEqual([1, expect.stringMatching(/NP_ORCHSERVER_CERTIFICATE/)])
})
