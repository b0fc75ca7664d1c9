import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseAllDocuments, stringify } from 'yaml'
import { root } from '../../support/on-demand/root.ts'
import type { Cluster } from './cluster.ts'

/**
 * Applies config/kubernetes/dns/dns.yaml. 1.20 has PodDisruptionBudgets of `policy/v1beta1` alone, with the same fields.
 * No proxy leads orch-dns to the API server before node-proxy, which is there.
 */
export async function installDns({ kubectl }: Cluster): Promise<void> {
  const text = readFileSync(join(root, 'config/kubernetes/dns/dns.yaml'), 'utf8')
  const objects = parseAllDocuments(text).map((one) => one.toJS() as { apiVersion: string })
  for (const object of objects) {
    if (object.apiVersion === 'policy/v1') object.apiVersion = 'policy/v1beta1'
  }
  const input = objects.map((object) => stringify(object)).join('---\n')
  await kubectl.run(['apply', '-f', '-'], { input })
  await kubectl.rolledOut('deployment/cluster-dns', 'kube-system')
}
