import { expect, test } from 'vitest'
import { filesOfWorld, worldOfFiles } from './world-record.ts'

test('a recorded kernel reads back as it was, and names a file that is missing', () => {
  const command = { program: 'ip', args: ['-j', 'addr'], status: 0, stdout: '[]', stderr: '' }
  const ipvs = { services: [], templates: [], tracksConnections: true, expiresQuiescent: false }
  const commands = [command, { ...command, args: ['rule'], stdout: '[1]' }]
  const world = { commands, ipvs, nftTables: [{ family: 'ip', name: 'node-proxy' }] }
  const files = filesOfWorld(world)
  expect([...files.keys()]).toEqual([
    'kernel/01-ip.txt',
    'kernel/02-ip.txt',
    'kernel/commands.json',
    'kernel/ipvs.json',
    'kernel/nft-tables.json',
  ])
  expect(worldOfFiles(files)).toEqual(world)
  const partial = new Map([...files].filter(([name]) => name !== 'kernel/02-ip.txt'))
  expect(() => worldOfFiles(partial)).toThrow('kernel/02-ip.txt is missing')
})
