import { parseArgs } from 'node:util'
import { median } from '../report/statistics.ts'
import { FIGURES, type Figures, measureWorkloads, type PLANES } from './planes.ts'

/**
 * Measures how long it takes until Deployments have all their Pods, have rolled out another image, and are gone; and
 * what the control plane needs for it: orch-server against etcd, kube-apiserver, kube-controller-manager and
 * kube-scheduler 1.20, which may make as many requests as they like. Both have the same nodes, whose kubelets answer at
 * once, from this process. Prints a table of medians.
 *
 *     NP_UPSTREAM_PROGRAMS=FOLDER scripts/node bench/workloads/main.ts
 *         [--pods=10000] [--each=500] [--nodes=100] [--rounds=3] [--planes=orch-server,kubernetes]
 *
 * `--each` is the number of replicas of a Deployment. `npm run test:upstream` says how the programs come to be.
 */
const { values } = parseArgs({
  options: {
    pods: { type: 'string', default: '10000' },
    each: { type: 'string', default: '500' },
    nodes: { type: 'string', default: '100' },
    rounds: { type: 'string', default: '3' },
    planes: { type: 'string', default: 'orch-server,kubernetes' },
  },
})
const [pods, each, nodes] = [values.pods, values.each, values.nodes].map(Number) as [
  number,
  number,
  number,
]

const print = (line: string) => process.stdout.write(`${line}\n`)
print(`${pods} Pods of ${pods / each} Deployments on ${nodes} nodes, ${values.rounds} rounds`)
print(`| control plane | ${FIGURES.join(' | ')} |`)
print(`| --- |${' ---: |'.repeat(FIGURES.length)}`)
for (const plane of values.planes.split(',') as (keyof typeof PLANES)[]) {
  const rounds: Figures[] = []
  for (let n = 0; n < Number(values.rounds); n++) {
    rounds.push(await measureWorkloads(plane, { pods, each, nodes }))
  }
  const cells = FIGURES.map((figure) => {
    const samples = rounds.map((one) => one[figure])
    const [least, most] = [Math.min(...samples), Math.max(...samples)].map((one) => one.toFixed(1))
    return `${median(samples).toFixed(1)} (${least} … ${most})`
  })
  print(`| ${plane} | ${cells.join(' | ')} |`)
}
