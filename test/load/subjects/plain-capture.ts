import type { IncomingHttpHeaders } from 'node:http';

export const PLAIN_QUEUE = 'captures';

export interface PlainCapture {
  id: string;
  endpointId: string;
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  ip: string;
  body: string;
}

export const PLAIN_TABLE = `CREATE TABLE plain_requests (
  id CHAR(36) CHARACTER SET ascii NOT NULL PRIMARY KEY,
  endpoint_id CHAR(36) CHARACTER SET ascii NOT NULL,
  method VARCHAR(32) NOT NULL,
  path TEXT NOT NULL,
  headers JSON NOT NULL,
  ip VARCHAR(45) NOT NULL,
  body LONGTEXT NOT NULL,
  created_at DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3),
  KEY plain_requests_endpoint (endpoint_id, created_at)
)`;
