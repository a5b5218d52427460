"""Service definitions of ROS 2 Humble (rosbags carries messages only), request and response apart by `---`."""

SERVICES = {
    "std_srvs/srv/Empty": "---",
    "std_srvs/srv/SetBool": "bool data\n---\nbool success\nstring message",
    "std_srvs/srv/Trigger": "---\nbool success\nstring message",
    "rcl_interfaces/srv/DescribeParameters": "string[] names\n---\nrcl_interfaces/ParameterDescriptor[] descriptors",
    "rcl_interfaces/srv/GetParameterTypes": "string[] names\n---\nuint8[] types",
    "rcl_interfaces/srv/GetParameters": "string[] names\n---\nrcl_interfaces/ParameterValue[] values",
    "rcl_interfaces/srv/ListParameters": (
        "uint64 DEPTH_RECURSIVE=0\nstring[] prefixes\nuint64 depth\n---\nrcl_interfaces/ListParametersResult result"
    ),
    "rcl_interfaces/srv/SetParameters": (
        "rcl_interfaces/Parameter[] parameters\n---\nrcl_interfaces/SetParametersResult[] results"
    ),
    "rcl_interfaces/srv/SetParametersAtomically": (
        "rcl_interfaces/Parameter[] parameters\n---\nrcl_interfaces/SetParametersResult result"
    ),
    "diagnostic_msgs/srv/AddDiagnostics": "string load_namespace\n---\nbool success\nstring message",
    "diagnostic_msgs/srv/SelfTest": "---\nstring id\nbyte passed\ndiagnostic_msgs/DiagnosticStatus[] status",
    "nav_msgs/srv/GetMap": "---\nnav_msgs/OccupancyGrid map",
    "nav_msgs/srv/GetPlan": (
        "geometry_msgs/PoseStamped start\ngeometry_msgs/PoseStamped goal\nfloat32 tolerance\n---\nnav_msgs/Path plan"
    ),
    "nav_msgs/srv/LoadMap": (
        "string map_url\n---\nuint8 RESULT_SUCCESS=0\nuint8 RESULT_MAP_DOES_NOT_EXIST=1\n"
        "uint8 RESULT_INVALID_MAP_DATA=2\nuint8 RESULT_INVALID_MAP_METADATA=3\nuint8 RESULT_UNDEFINED_FAILURE=255\n"
        "nav_msgs/OccupancyGrid map\nuint8 result"
    ),
    "nav_msgs/srv/SetMap": (
        "nav_msgs/OccupancyGrid map\ngeometry_msgs/PoseWithCovarianceStamped initial_pose\n---\nbool success"
    ),
    "sensor_msgs/srv/SetCameraInfo": "sensor_msgs/CameraInfo camera_info\n---\nbool success\nstring status_message",
    "tf2_msgs/srv/FrameGraph": "---\nstring frame_yaml",
    "visualization_msgs/srv/GetInteractiveMarkers": (
        "---\nuint64 sequence_number\nvisualization_msgs/InteractiveMarker[] markers"
    ),
}
