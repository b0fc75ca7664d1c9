import { join } from 'node:path'
import type { OrchServerConfiguration } from '../config/configuration.ts'

/** Where clients of this server find its address and its authority. */
export function kubeconfigPath({
  kubeconfig,
  dataDir,
}: Pick<OrchServerConfiguration, 'kubeconfig' | 'dataDir'>): string {
  return kubeconfig || join(dataDir, 'admin.kubeconfig')
}
