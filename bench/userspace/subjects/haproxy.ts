import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startProgram } from './program.ts'
import type { ProxySetup, Subject } from './subject.ts'

/** Pipes for splicing, which take two descriptors each, and further descriptors for HAProxy itself. */
const PIPES = 256
const SPARE = 200

/**
 * How HAProxy moves bytes. `haproxy-splice`: always by splice(2). `haproxy-auto`: HAProxy decides, which in mode tcp of
 * version 2.6 means copying even long streams. `haproxy-copy`: never by splice(2).
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

/**
 * The configuration. A connection takes two descriptors, and HAProxy does not start with a limit that it cannot reach.
 */
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
