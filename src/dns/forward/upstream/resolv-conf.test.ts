import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parseResolvConf, readResolvConf } from '../open-forwarder.ts'
import { upstreamName } from './upstream.ts'

let folder = ''
beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), 'resolv-conf-'))))
afterAll(() => rm(folder, { recursive: true }))

async function fileWith(text: string): Promise<string> {
  const path = join(folder, 'resolv.conf')
  await writeFile(path, text)
  return path
}

const namesIn = (text: string): readonly string[] =>
  parseResolvConf(text).upstreams.map(upstreamName)

test('nameserver lines are read, comments and other lines are not', () => {
  const text = [
    '# nameserver 10.0.0.8',
    '; nameserver 10.0.0.9',
    'search example.com cluster.local',
    'options ndots:5 timeout:1',
    'nameserver 10.0.0.1',
    '  nameserver\tfd00::1   # the second one\r',
    'nameservers 10.0.0.7',
    'nameserver fe80::1%eth0',
  ].join('\n')
  expect(namesIn(text)).toEqual(['10.0.0.1:53', '[fd00::1]:53', '[fe80::1%eth0]:53'])
  expect(parseResolvConf(text).warnings).toEqual([])
})

test('lines that are not used are named with their numbers', () => {
  const lines = ['10.0.0.1', '10.0.0.1', 'dns.example', '10.0.0.2:53', '', '[fd00::1]', '0.0.0.0']
  const text = [...lines, '10.0.0.3', '10.0.0.4', '10.0.0.5'].map((line) => `nameserver ${line}`)
  const { upstreams, warnings } = parseResolvConf(text.join('\n'))
  expect(upstreams.map(upstreamName)).toEqual(['10.0.0.1:53', '10.0.0.3:53', '10.0.0.4:53'])
  const noAddress = 'is not the IP address of a host; correct it'
  expect(warnings).toEqual([
    'line 2: nameserver "10.0.0.1" is named twice',
    `line 3: nameserver "dns.example" ${noAddress}`,
    `line 4: nameserver "10.0.0.2:53" ${noAddress}`,
    `line 5: nameserver "" ${noAddress}`,
    `line 6: nameserver "[fd00::1]" ${noAddress}`,
    `line 7: nameserver "0.0.0.0" ${noAddress}`,
    'line 10: nameserver "10.0.0.5" is not used: only the first 3 are',
  ])
})

test('a file is read', async () => {
  const path = await fileWith('nameserver 10.0.0.1\n')
  expect((await readResolvConf(path)).upstreams).toEqual([{ address: '10.0.0.1', port: 53 }])
})

test('a file without a usable line, and one that is missing, are named', async () => {
  const path = await fileWith('search a\nnameserver b\n')
  await expect(readResolvConf(path)).rejects.toMatchObject({
    code: 'NP_DNS_RESOLV_CONF',
    message: expect.stringContaining('line 2: nameserver "b" is not the IP address'),
  })
  await expect(readResolvConf(join(folder, 'missing'))).rejects.toMatchObject({
    code: 'NP_DNS_RESOLV_CONF',
    message: expect.stringMatching(/missing" cannot be read \(.*ENOENT.*name another file/),
  })
})
