import { copyFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Lab } from '../lab/lab.ts'
import { runOrchServerCommand } from '../orchserver/run-command.ts'

/** A node whose node-proxy other machines read. */
export interface CertifiedNode {
  readonly name: string
  readonly address: string
  /** The folder for its certificate, its key and the authority. */
  readonly folder: string
}

/** Lets the orch-server of a lab certify a node. @returns the flags by which its node-proxy serves remote inspection */
export async function certifyNode(
  lab: Lab,
  { name, address, folder }: CertifiedNode,
): Promise<readonly string[]> {
  const dataDir = join(lab.folder, 'orch-server')
  mkdirSync(folder, { recursive: true })
  const named = [`--node=${name}`, `--address=${address}`, `--output=${folder}`]
  await runOrchServerCommand('node-certificate', `--data-dir=${dataDir}`, ...named)
  copyFileSync(join(dataDir, 'pki/ca.crt'), join(folder, 'ca.crt'))
  return [
    '--inspection-bind-address=0.0.0.0:10246',
    `--inspection-tls-cert-file=${join(folder, 'tls.crt')}`,
    `--inspection-tls-private-key-file=${join(folder, 'tls.key')}`,
    `--inspection-client-ca-file=${join(folder, 'ca.crt')}`,
  ]
}
