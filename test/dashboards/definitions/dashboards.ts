import { apiServer } from './api-server.ts'
import { cluster } from './cluster.ts'
import type { DashboardSpec } from './dashboard.ts'
import { dns } from './dns.ts'
import { node } from './node.ts'

/** The dashboards of config/grafana. */
export const DASHBOARDS: readonly DashboardSpec[] = [cluster, node, dns, apiServer]
