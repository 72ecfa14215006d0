/* What clients read, as types alone: clients import nothing else of the server. */

/** The log entry of the specification, with the extra fields of this service. */
export interface LogEntry {
  id: string;
  endpoint_id: string;
  seq: number;
  method: string;
  path: string;
  headers: Record<string, string>;
  query: Record<string, string | string[]>;
  body: string;
  body_encoding: 'utf8' | 'base64';
  body_truncated?: true;
  content_type: string;
  ip: string;
  user_agent: string;
  size: number;
  created_at: string;
  /** With `raw`: the request-target and the headers as sent, a character for each byte. */
  target?: string;
  raw_headers?: [string, string][];
}

/** The endpoint record of the specification. */
export interface EndpointRecord {
  id: string;
  user_id: string;
  alias: string | null;
  is_permanent: number;
  expires_at: string | null;
  request_count: number;
  last_request_at: string | null;
  created_at: string;
  updated_at: string;
  /** Only where it answers with a custom response. */
  custom_response?: true;
}

/** The endpoint creation result of the specification; `aliasUrl` only where there is an alias. */
export interface EndpointCreated {
  id: string;
  url: string;
  aliasUrl?: string;
  expiresAt: string | null;
  isPermanent: boolean;
  createdAt: string;
}

/** Stored entries of an endpoint by minute, oldest first; the last minute is the running one, which ends at `until`. */
export interface Activity {
  since: string;
  until: string;
  counts: number[];
  /** Where there are too many entries: the instant from which on all are counted. */
  counted_from?: string;
}

export interface ShareRecord {
  id: string;
  endpoint_id: string;
  request_id: string | null;
  label: string | null;
  redact: boolean;
  until: string | null;
  expires_at: string;
  created_at: string;
}

/** What the holder of a share link may know about it. */
export type ShareScopeRecord = Omit<ShareRecord, 'id' | 'label' | 'created_at'>;

/** The only answer that has the token. */
export interface ShareCreated {
  id: string;
  token: string;
  url: string;
  expiresAt: string;
}

/** What an endpoint answers in place of the receipt. */
export interface CustomResponseRecord {
  status: number;
  headers: Record<string, string>;
  body: string;
  /** How the owner sent the body, and gets it back. */
  bodyEncoding: 'utf8' | 'base64';
  delayMs: number;
}
