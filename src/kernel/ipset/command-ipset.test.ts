import { expect, test } from 'vitest'
import { FakeRunner } from '../spawner/fake-runner.ts'
import { CommandIpset } from './command-ipset.ts'

const LIST = `Name: NP-A
Type: hash:ip
Revision: 6
Header: family inet hashsize 64 maxelem 65536 timeout 10800 counters bucketsize 12 initval 0xf4f226af
Size in memory: 408
References: 2
Number of entries: 3

Name: OTHER
Type: hash:ip,port
Revision: 7
Header: family inet6 hashsize 1024 maxelem 65536
Size in memory: 232
References: 0
Number of entries: 0
`

test('reads headers of the sets with a prefix', async () => {
  const ipset = new CommandIpset(new FakeRunner(() => ({ stdout: LIST })))
  const sets = await ipset.list('NP-')
  expect([...sets.keys()]).toEqual(['NP-A'])
  expect(sets.get('NP-A')).toMatchObject({ type: 'hash:ip', references: 2, entries: 3 })
  expect(Object.fromEntries(sets.get('NP-A')?.options ?? [])).toMatchObject({
    family: 'inet',
    timeout: '10800',
    counters: '',
    bucketsize: '12',
  })
})

test('reads members', async () => {
  const stdout = 'Name: NP-A\nNumber of entries: 1\nMembers:\n10.0.0.1 timeout 299\n'
  const ipset = new CommandIpset(new FakeRunner(() => ({ stdout })))
  expect(await ipset.members('NP-A')).toEqual(['10.0.0.1 timeout 299'])
  const stderr = 'ipset v7.17: The set with the given name does not exist\n'
  const none = new CommandIpset(new FakeRunner(() => ({ status: 1, stderr })))
  expect(await none.members('NP-A')).toBeUndefined()
})

test('a refused line comes back and the others run', async () => {
  const runner = new FakeRunner(({ stdin }) => {
    const line = stdin.split('\n').findIndex((text) => text.includes('BAD')) + 1
    if (line === 0) return {}
    return { status: 1, stderr: `ipset v7.17: Error in line ${line}: Set cannot be created\n` }
  })
  const commands = ['create A hash:ip', 'create BAD hash:ip', 'create C hash:ip', 'destroy BAD']
  expect(await new CommandIpset(runner).restore(commands)).toEqual([
    { index: 1, message: 'Error in line 2: Set cannot be created' },
    { index: 3, message: 'Error in line 2: Set cannot be created' },
  ])
  expect(runner.jobs.map((job) => job.stdin)).toEqual([
    'create A hash:ip\ncreate BAD hash:ip\ncreate C hash:ip\ndestroy BAD\n',
    'create C hash:ip\ndestroy BAD\n',
  ])
})

test('collected additions before a refused line are said again', async () => {
  const runner = new FakeRunner(({ stdin }) => {
    return stdin.includes('BAD') ? { status: 1, stderr: 'ipset: Error in line 4: no set' } : {}
  })
  const commands = [
    'create A hash:ip',
    'add A 10.0.0.1',
    'del A 10.0.0.2 -exist',
    'add BAD 10.0.0.1',
  ]
  expect(await new CommandIpset(runner).restore([...commands, 'add A 10.0.0.3'])).toMatchObject([
    { index: 3 },
  ])
  const again = 'add A 10.0.0.1 -exist\ndel A 10.0.0.2 -exist\nadd A 10.0.0.3\n'
  expect(runner.jobs.at(-1)?.stdin).toBe(again)
})

test('without a line number everything left is refused', async () => {
  const ipset = new CommandIpset(new FakeRunner(() => ({ status: 1, stderr: 'Kernel error' })))
  expect(await ipset.restore(['create A hash:ip', 'create B hash:ip'])).toEqual([
    { index: 0, message: 'Kernel error' },
    { index: 1, message: 'Kernel error' },
  ])
})

test('a command is one line', async () => {
  const ipset = new CommandIpset(new FakeRunner())
  await expect(ipset.restore(['create A hash:ip\nflush'])).rejects.toThrow('one line')
})

test('without the program the error says what to install', async () => {
  const ipset = new CommandIpset(new FakeRunner(() => ({ status: 127, stderr: 'not found' })))
  await expect(ipset.names('NP-')).rejects.toMatchObject({ code: 'NP_KERNEL_IPSET' })
})
