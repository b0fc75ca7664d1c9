import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startProgram } from './program.ts'
import type { ProxySetup, Subject } from './subject.ts'

/** Pipes for splicing, two descriptors each, and some more for what it needs itself. */
const PIPES = 256
const SPARE = 200

/**
 * How HAProxy moves bytes. `haproxy-splice`: always by splice(2). `haproxy-auto`: as it sees fit,
 * which in mode tcp of 2.6 is by copies, long streams as well. `haproxy-copy`: never by splice(2).
 */
export type HaproxyName = 'haproxy-splice' | 'haproxy-auto' | 'haproxy-copy'

const SPLICING: Readonly<Record<HaproxyName, string>> = {
  'haproxy-splice': 'option splice-request\n  option splice-response',
  'haproxy-auto': 'option splice-auto',
  'haproxy-copy': 'no option splice-auto',
}

export function haproxy(name: HaproxyName): Subject {
  return {
    name,
    start(setup) {
      const file = join(setup.folder, `${name}.cfg`)
      writeFileSync(file, haproxyConfig(name, setup))
      return startProgram(setup, ['haproxy', '-db', '-f', file])
    },
  }
}

/** A connection takes two descriptors; HAProxy refuses to start with more than it may have. */
export function haproxyConfig(name: HaproxyName, setup: ProxySetup): string {
  const { listen, backend, workers, descriptors } = setup
  return `global
  maxconn ${Math.floor((descriptors - SPARE) / 2) - PIPES}
  maxpipes ${PIPES}
  nbthread ${workers}
defaults
  mode tcp
  ${SPLICING[name]}
  timeout connect 5s
  timeout client 1h
  timeout server 1h
frontend clients
  bind ${listen.ip}:${listen.port}
  default_backend backends
backend backends
  server one ${backend.ip}:${backend.port}
`
}
