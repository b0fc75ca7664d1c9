import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { root } from './source-file.ts'

/** The request covers this many Services, ten endpoints each; larger clusters raise it. */
const SERVICES = 1_000
const KIB_PER_MIB = 1_024

interface Cell {
  readonly services: number
  readonly measured: {
    readonly memory?: { readonly daemonPeak: number; readonly largestChild: number }
  }
}

function measuredMiB(file: string): readonly number[] {
  const { cells } = JSON.parse(readFileSync(join(root, 'bench/results', file), 'utf8')) as {
    readonly cells: readonly Cell[]
  }
  return cells.flatMap(({ services, measured: { memory } }) =>
    services === SERVICES && memory
      ? [Math.ceil((memory.daemonPeak + memory.largestChild) / KIB_PER_MIB)]
      : [],
  )
}

function requestedMiB(): number {
  const text = readFileSync(join(root, 'config/kubernetes/node-proxy/daemonset.yaml'), 'utf8')
  const { spec } = parse(text) as {
    readonly spec: {
      readonly template: {
        readonly spec: {
          readonly containers: readonly [
            { readonly resources: { readonly requests: { readonly memory: string } } },
          ]
        }
      }
    }
  }
  const { memory } = spec.template.spec.containers[0].resources.requests
  return Number(/^([0-9]+)Mi$/.exec(memory)?.[1])
}

test('the DaemonSet requests what was measured with 1,000 Services, and not much more', () => {
  const measured = ['latest.json', 'ipvs.json'].flatMap(measuredMiB)
  expect(measured.length).toBeGreaterThanOrEqual(2)
  const most = Math.max(...measured)
  expect(requestedMiB()).toBeGreaterThanOrEqual(most)
  expect(requestedMiB()).toBeLessThanOrEqual(most * 1.2)
})
