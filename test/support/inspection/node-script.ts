import { join } from 'node:path'
import type { Lab } from '../lab/lab.ts'
import { NODE_NAME } from '../lab/plan.ts'
import { programsFolder } from '../programs.ts'
import { inspectionSocket } from './node-command.ts'

const BIN = join(programsFolder(), 'bin')
/** The path of the record in the pages. */
const RECORD = '/tmp/node7.tar.gz'
const CONFIG = '/etc/node-proxy/config.yaml'

/**
 * Runs a script of a page on the lab's node, with the paths of the lab, and returns the output with those of the page.
 */
export async function runOnNode({ node, folder, daemon }: Lab, script: string): Promise<string> {
  const socket = `--socket='${inspectionSocket({ daemon })}'`
  const proxy = `node-proxy() { case $1 in plan) command node-proxy "$@" ;; *) command node-proxy "$@" ${socket} ;; esac; }`
  const text = script
    .replaceAll(RECORD, `${folder}/node7.tar.gz`)
    .replaceAll(CONFIG, daemon.configFile)
  const words = ['bash', '-c', `PATH=${BIN}:$PATH\n${proxy}\n${text}`]
  return (await node.namespace.exec(words, { timeoutMs: 150_000 }))
    .replaceAll(/\bnode\/[\w.-]+/g, 'node/node-7')
    .replaceAll(NODE_NAME, 'node-7')
    .replaceAll(daemon.configFile, CONFIG)
    .replace(/(?<=the kernel has not )ip_vs.*/, 'ip_vs')
}
