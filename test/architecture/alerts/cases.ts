/** Values of one time series a minute apart, in the notation of `promtool test rules`. */
export type Series = Readonly<Record<string, string>>

/** Two histories of a node: an alert fires at minute `at` of the one, and not of the other. */
export interface AlertCase {
  readonly at: number
  readonly fires: Series
  readonly quiet: Series
}

const DAY = 86_400

export const NODE_PROXY_CASES: Readonly<Record<string, AlertCase>> = {
  NodeProxyDown: {
    at: 6,
    fires: { 'up{job="node-proxy"}': '1 0x9' },
    quiet: { 'up{job="node-proxy"}': '1 0x3 1x9', 'up{job="other"}': '0x9' },
  },
  // Nothing but the age moves: the lock of iptables is held, and no run ends.
  NodeProxyChangeStuck: {
    at: 4,
    fires: { 'nodeproxy_oldest_pending_change_age_seconds{ip_family="IPv4"}': '0 40+60x9' },
    quiet: { 'nodeproxy_oldest_pending_change_age_seconds{ip_family="IPv4"}': '0 50 1 50 1 50' },
  },
  NodeProxyKernelRefuses: {
    at: 40,
    fires: { 'nodeproxy_apply_failures_total{code="NP_IPTABLES_REFUSED"}': '0x10 1+1x40' },
    quiet: { 'nodeproxy_apply_failures_total{code="NP_IPTABLES_REFUSED"}': '0x10 3x40' },
  },
  NodeProxyApiConnectionLost: {
    at: 8,
    fires: {
      'nodeproxy_watch_connected{resource="services"}': '1x9',
      'nodeproxy_watch_connected{resource="endpointslices"}': '1 0x9',
    },
    quiet: { 'nodeproxy_watch_connected{resource="services"}': '1 0 0 0 1 0 0 0 1' },
  },
  NodeProxyConfigurationRefused: {
    at: 3,
    fires: { nodeproxy_config_last_reload_successful: '1 0x9' },
    quiet: { nodeproxy_config_last_reload_successful: '1 0 1x9' },
  },
  NodeProxyRepairsRepeat: {
    at: 30,
    fires: {
      'nodeproxy_drift_repairs_total{object="chain",cause="missing"}':
        '0 0x3 4x4 8x4 9x4 12x4 13x9',
    },
    quiet: { 'nodeproxy_drift_repairs_total{object="chain",cause="missing"}': '0 0x5 40000x40' },
  },
  NodeProxyCredentialExpires: {
    at: 20,
    fires: {
      'nodeproxy_client_credential_expiration_timestamp_seconds{kind="token"}': `${6 * DAY}x80`,
      'nodeproxy_client_credential_late_timestamp_seconds{kind="token"}': '120x80',
    },
    quiet: {
      'nodeproxy_client_credential_expiration_timestamp_seconds{kind="token"}': `${6 * DAY}x9 ${30 * DAY}x80`,
      'nodeproxy_client_credential_late_timestamp_seconds{kind="token"}': `120x9 ${24 * DAY}x80`,
    },
  },
  NodeProxyCredentialExpired: {
    at: 36,
    fires: {
      'nodeproxy_client_credential_expiration_timestamp_seconds{kind="token-file"}': '1200x80',
    },
    quiet: {
      'nodeproxy_client_credential_expiration_timestamp_seconds{kind="token-file"}':
        '1200x30 3600x50',
    },
  },
  NodeProxyCondition: {
    at: 17,
    fires: { 'nodeproxy_conditions{reason="owner-lock"}': '0 1x30' },
    quiet: {
      'nodeproxy_conditions{reason="owner-lock"}': '0 1x9 0x30',
      'nodeproxy_conditions{reason="foreign-service-proxy"}': '1x30',
    },
  },
  NodeProxyForeignServiceProxy: {
    at: 63,
    fires: { 'nodeproxy_conditions{reason="foreign-service-proxy"}': '0 1x80' },
    quiet: { 'nodeproxy_conditions{reason="foreign-service-proxy"}': '0 1x30 0x80' },
  },
  NodeProxyProgrammingSlow: {
    at: 30,
    fires: {
      'nodeproxy_network_programming_duration_seconds_bucket{le="10"}': '0x40',
      'nodeproxy_network_programming_duration_seconds_bucket{le="20"}': '0+5x40',
      'nodeproxy_network_programming_duration_seconds_bucket{le="+Inf"}': '0+5x40',
    },
    quiet: {
      'nodeproxy_network_programming_duration_seconds_bucket{le="1"}': '0+5x40',
      'nodeproxy_network_programming_duration_seconds_bucket{le="+Inf"}': '0+5x40',
    },
  },
  NodeProxyNoLocalEndpoints: {
    at: 32,
    fires: {
      'nodeproxy_sync_proxy_rules_no_local_endpoints_total{traffic_policy="internal"}': '2x40',
    },
    quiet: {
      'nodeproxy_sync_proxy_rules_no_local_endpoints_total{traffic_policy="external"}': '2x40',
    },
  },
}

export const ORCH_SERVER_CASES: Readonly<Record<string, AlertCase>> = {
  OrchServerDown: {
    at: 4,
    fires: { 'up{job="orch-server"}': '1 0x9' },
    quiet: { 'up{job="orch-server"}': '1 0 1x9' },
  },
  OrchServerStoreFails: {
    at: 8,
    fires: { 'apiserver_store_request_duration_seconds_count{result="failed"}': '0+1x20' },
    quiet: {
      'apiserver_store_request_duration_seconds_count{result="failed"}': '5x20',
      'apiserver_store_request_duration_seconds_count{result="ok"}': '0+9x20',
    },
  },
  OrchServerStoreSlow: {
    at: 25,
    fires: {
      'apiserver_store_request_duration_seconds_bucket{operation="txn",le="0.1"}': '0x40',
      'apiserver_store_request_duration_seconds_bucket{operation="txn",le="1"}': '0+9x40',
      'apiserver_store_request_duration_seconds_bucket{operation="txn",le="+Inf"}': '0+9x40',
    },
    quiet: {
      'apiserver_store_request_duration_seconds_bucket{operation="txn",le="0.01"}': '0+9x40',
      'apiserver_store_request_duration_seconds_bucket{operation="txn",le="+Inf"}': '0+9x40',
    },
  },
  OrchServerErrors: {
    at: 12,
    fires: { 'apiserver_request_total{code="500"}': '0+1x20' },
    quiet: {
      'apiserver_request_total{code="409"}': '0+1x20',
      'apiserver_request_total{code="500"}': '4x20',
    },
  },
  OrchServerRejects: {
    at: 12,
    fires: {
      'apiserver_flowcontrol_rejected_requests_total{priority_level="system"}': '0+1x20',
    },
    quiet: { 'apiserver_flowcontrol_rejected_requests_total{priority_level="system"}': '7x20' },
  },
  OrchServerCachesLate: {
    at: 4,
    fires: { apiserver_cache_lag_revisions: '0 3x9' },
    quiet: { apiserver_cache_lag_revisions: '0 3 0 3 0 3' },
  },
  OrchServerControllerProblem: {
    at: 3,
    fires: {
      'controller_problems_total{controller="endpoints",code="NP_CONTROLLERS_WRITE"}': '_ _ 1x9',
    },
    quiet: {
      'controller_problems_total{controller="endpoints",code="NP_CONTROLLERS_WRITE"}': '_x20',
    },
  },
  OrchServerControllerLate: {
    at: 16,
    fires: { 'workqueue_depth{controller="endpoints"}': '4x30' },
    quiet: { 'workqueue_depth{controller="endpoints"}': '4x8 0 4x8 0 4x8' },
  },
  OrchServerAllocationConflict: {
    at: 3,
    fires: { 'apiserver_clusterip_repair_ip_errors_total{type="duplicate"}': '_ _ 1x9' },
    quiet: { 'apiserver_clusterip_repair_ip_errors_total{type="leaked"}': '_ _ 1x9' },
  },
  OrchServerObjectsUnreadable: {
    at: 3,
    fires: { 'apiserver_storage_unreadable_objects{resource="services"}': '0 2x9' },
    quiet: { 'apiserver_storage_unreadable_objects{resource="services"}': '0 2 0x9' },
  },
  OrchServerFilesShort: {
    at: 7,
    fires: {
      'process_open_fds{job="orch-server"}': '900x9',
      'process_max_fds{job="orch-server"}': '1024x9',
    },
    quiet: {
      'process_open_fds{job="orch-server"}': '90x9',
      'process_max_fds{job="orch-server"}': '1024x9',
    },
  },
  OrchServerCertificateEnds: {
    at: 70,
    fires: { orchserver_certificate_expiration_timestamp_seconds: `${13 * DAY}x80` },
    quiet: { orchserver_certificate_expiration_timestamp_seconds: `${20 * DAY}x80` },
  },
  OrchServerAuditLost: {
    at: 3,
    fires: { 'orchserver_audit_events_dropped_total{output="webhook"}': '_ _ 7x9' },
    quiet: { 'orchserver_audit_events_dropped_total{output="webhook"}': '_x20' },
  },
  OrchServerNodeAgentDown: {
    at: 7,
    fires: { 'orchserver_node_agent_up{node="here"}': '1 0x9' },
    quiet: { 'orchserver_node_agent_up{node="here"}': '1 0 0 1x9' },
  },
}

export const DNS_CASES: Readonly<Record<string, AlertCase>> = {
  OrchDnsDown: {
    at: 5,
    fires: { 'up{job="orch-dns"}': '1 0x9' },
    quiet: { 'up{job="orch-dns"}': '1 0 1x9', 'up{job="other"}': '0x9' },
  },
  OrchDnsNamesUnknown: {
    at: 5,
    fires: { orchdns_names_known: '0x9' },
    quiet: { orchdns_names_known: '0 0 1x9' },
  },
  OrchDnsCredentialExpires: {
    at: 20,
    fires: {
      'orchdns_client_credential_expiration_timestamp_seconds{kind="token"}': '7200x80',
      'orchdns_client_credential_late_timestamp_seconds{kind="token"}': '120x80',
    },
    quiet: {
      'orchdns_client_credential_expiration_timestamp_seconds{kind="token"}': '7200x80',
      'orchdns_client_credential_late_timestamp_seconds{kind="token"}': '3600x80',
    },
  },
  OrchDnsUpstreamsFail: {
    at: 20,
    fires: {
      'orchdns_forwarded_questions_total{result="upstream"}': '0+90x30',
      'orchdns_forwarded_questions_total{result="unanswered"}': '0+10x30',
    },
    quiet: {
      'orchdns_forwarded_questions_total{result="upstream"}': '0+990x30',
      'orchdns_forwarded_questions_total{result="unanswered"}': '0+10x30',
    },
  },
  OrchDnsOverloaded: {
    at: 20,
    fires: { 'orchdns_refusals_total{reason="overload"}': '0+5x30' },
    quiet: { 'orchdns_refusals_total{reason="no-upstream"}': '0+5x30' },
  },
  OrchDnsClientsRefused: {
    at: 30,
    fires: { 'orchdns_refusals_total{reason="network"}': '0+120x40' },
    quiet: { 'orchdns_refusals_total{reason="network"}': '0+30x40' },
  },
  OrchDnsErrors: {
    at: 5,
    fires: { orchdns_failures_total: '0 0 1x9' },
    quiet: { orchdns_failures_total: '3x9' },
  },
}

/** A counter of requests with one code, and buckets of DNS answers, as one server has them. */
const requests = (code: string) => `apiserver_request_total{instance="a",verb="GET",code="${code}"}`
const answers = (le: string) =>
  `orchdns_request_duration_seconds_bucket{instance="a",domain="cluster",le="${le}"}`

export const SLO_CASES: Readonly<Record<string, AlertCase>> = {
  ErrorBudgetBurnsFast: {
    at: 30,
    fires: { [requests('200')]: '0+600x60', [requests('500')]: '0+60x60' },
    // Of the API one error of few requests; of DNS what the budget bears for days.
    quiet: {
      [requests('200')]: '0+1x60',
      [requests('500')]: '0x20 1x40',
      [answers('0.025')]: '0+950x60',
      [answers('+Inf')]: '0+1000x60',
    },
  },
  ErrorBudgetBurnsSlowly: {
    at: 60,
    fires: { [answers('0.025')]: '0+950x90', [answers('+Inf')]: '0+1000x90' },
    quiet: { [answers('0.025')]: '0+995x90', [answers('+Inf')]: '0+1000x90' },
  },
}
