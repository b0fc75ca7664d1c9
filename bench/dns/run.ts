import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { serviceName } from '../cluster/objects.ts'
import { memoryOf } from '../daemon/process-tree.ts'
import { busyPercent } from '../measure/busy-percent.ts'
import { machineFacts } from '../measure/machine.ts'
import type { Options } from '../options.ts'
import type { DnsMachine, DnsMeasured } from '../report/dns/results.ts'
import { saveResults } from '../report/files.ts'
import { seededCluster } from '../seeded-cluster.ts'
import { measureBurst } from './burst.ts'
import { measureChanges } from './changes.ts'
import { measureRates } from './rates.ts'
import { FULL, QUICK, type Repeats } from './repeats.ts'
import { Resolver } from './resolver.ts'
import { startDns, startEcho } from './subjects.ts'

/** The number of questions in the file that dnsperf repeats. */
const QUESTIONS = 100_000

/** Measures DNS: answers per second, latency, memory, and how soon a change is answered. */
export async function runDns({ quick, into }: Options, folder: string): Promise<void> {
  const repeats = quick ? QUICK : FULL
  const startedAt = new Date().toISOString().slice(0, 10)
  const head = { startedAt, machine: describeMachine(), quick, busyPercent: await busyPercent() }
  const cluster = await seededCluster(repeats.services, 2)
  let measured: Partial<DnsMeasured> = {}
  const save = (more: Partial<DnsMeasured>): void => {
    measured = { ...measured, ...more }
    saveResults(into, 'dns', { ...head, services: repeats.services, measured })
  }
  const echo = await startEcho()
  const dns = await startDns(cluster.url, folder)
  const resolver = await Resolver.open(dns.port)
  const questions = questionFile(repeats, folder)
  log('rates')
  save({ rates: await measureRates(repeats, { echo, dns }, questions) })
  log('changes')
  save({ changes: await measureChanges(repeats, cluster.url, resolver) })
  log('burst')
  save({ burst: await measureBurst(repeats, cluster, { port: dns.port, questions }) })
  save({ peakKib: memoryOf(dns.pid)?.peak ?? 0 })
  resolver.close()
  for (const server of [dns, echo, cluster]) await server.stop()
}

/** Writes questions in an order that makes processor caches useless. */
export function questionFile({ services }: Pick<Repeats, 'services'>, folder: string): string {
  const path = join(folder, 'questions')
  const lines = Array.from({ length: QUESTIONS }, (_, index) => {
    const service = (index * 7_919) % services
    return `${serviceName(service)}.default.svc.cluster.local A\n`
  })
  writeFileSync(path, lines.join(''))
  return path
}

function describeMachine(): DnsMachine {
  return {
    ...machineFacts(),
    dnsperf: /Version ([\d.]+)/.exec(helpOfDnsperf())?.[1] ?? 'unknown',
  }
}

function helpOfDnsperf(): string {
  return execFileSync('sh', ['-c', 'dnsperf -h 2>&1 || true'], { encoding: 'utf8' })
}

function log(what: string): void {
  process.stderr.write(`bench: dns: ${what}\n`)
}
