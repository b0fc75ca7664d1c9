import { execFile, execFileSync } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { decode, encode } from 'dns-packet'

/**
 * Started in namespaces of its own with a file and a list of lookups: mounts the file as /etc/resolv.conf, answers every
 * question with NXDOMAIN, and prints the names that libc queried for, each once, of each lookup.
 */
const [file = '', json = '[]'] = process.argv.slice(2)
const lookups = JSON.parse(json) as readonly (readonly [string, string])[]
execFileSync('ip', ['link', 'set', 'lo', 'up'])
execFileSync('mount', ['--bind', file, '/etc/resolv.conf'])

let names: string[] = []
const server = createSocket('udp4')
server.on('message', (message, { port, address }) => {
  const { id, questions = [] } = decode(message)
  names.push(...questions.map(({ name }) => name))
  const flags = 0x0100 | 3
  server.send(encode({ type: 'response', id: id ?? 0, flags, questions }), port, address)
})
server.bind(53, '127.0.0.1')
await once(server, 'listening')

const queried: string[][] = []
for (const [text, name] of lookups) {
  names = []
  writeFileSync(file, `nameserver 127.0.0.1\n${text}`)
  await promisify(execFile)('getent', ['ahosts', name]).catch(() => undefined)
  queried.push([...new Set(names)])
}
server.close()
process.stdout.write(JSON.stringify(queried))
